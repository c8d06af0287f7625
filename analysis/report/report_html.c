/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_html.c - the page itself: style, escaping, tables, figures. */
#include "report_int.h"

#include <math.h>
#include <string.h>

#include <orrery/analysis/plot.h>
#include <orrery/base/text.h>

static const char head[] =
    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
    "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<style>\n"
    ":root{--ink:#1c1f23;--soft:#59616b;--line:#d9dde2;--page:#fff;--card:#f6f7f9;--shade:#0004;--"
    "mark:#0b62a8}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e8ea;--soft:#a4acb5;--line:#3a4048;"
    "--page:#15181c;--card:#1f242a;--shade:#fff5;--mark:#7db8ee}"
    "figure svg image,figure svg .scale{filter:invert(.91) hue-rotate(180deg)}}\n"
    "th[tabindex]{cursor:pointer}th[aria-sort=descending]::after{content:\" \\2193\"}"
    "th[aria-sort=ascending]::after{content:\" \\2191\"}\n"
    "body{margin:0 auto;max-width:66rem;padding:1rem 1.2rem 4rem;background:var(--page);"
    "color:var(--ink);font:16px/1.5 system-ui,sans-serif}body.many{max-width:96rem}\n"
    "h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .5rem;border-top:1px "
    "solid var(--line);padding-top:1rem}h3{font-size:1rem;margin:1.4rem 0 .3rem}\n"
    "p{margin:.4rem 0}.soft{color:var(--soft)}a{color:var(--mark)}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.3rem 0}\n"
    "dl.short{display:grid;grid-template-columns:13rem 1fr;gap:.5rem 1.2rem;margin:.8rem 0}"
    "dl.short dt{font-weight:600}dl.short dd{margin:0}dl.short dd>p:first-child{margin-top:0}\n"
    "@media (max-width:44rem){dl.short{grid-template-columns:1fr;gap:.1rem}dl.short dd{margin-"
    "bottom:.7rem}body{padding:1rem .8rem 4rem}}\n"
    ".wide,figure{overflow-x:auto;background:linear-gradient(90deg,var(--page) 40%,"
    "transparent) 0 0/2rem 100% no-repeat local,linear-gradient(270deg,var(--page) 40%,transparent)"
    " 100% 0/2rem 100% no-repeat local,linear-gradient(90deg,var(--shade),transparent) 0 0/.9rem"
    " 100% no-repeat,linear-gradient(270deg,var(--shade),transparent) 100% 0/.9rem 100% "
    "no-repeat}\n"
    "table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}\n"
    "th,td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);"
    "vertical-align:top;white-space:nowrap}td.t{white-space:normal;min-width:7.5rem}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    "th{font-weight:600;color:var(--soft);white-space:normal;vertical-align:bottom}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.6rem}\n"
    ".card{background:var(--card);border-radius:.4rem;padding:.5rem .8rem}.card b{display:block;"
    "font-size:1.25rem}.card small{display:block;color:var(--soft);line-height:1.3}\n"
    "figure{margin:1rem 0;border-radius:.4rem;padding:.4rem}figure svg>g>rect[fill=\"#ffffff\" "
    "i]{fill:"
    "none}"
    "figure svg{width:100%;max-width:62rem;min-width:42rem;height:auto;display:block;margin:auto}"
    "figcaption{color:var(--soft);font-size:.85rem;padding:.2rem .4rem}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(34rem,100%),1fr));gap:"
    "0 1rem}.pair figure{margin:.3rem 0;min-width:0}\n"
    "details{margin:.6rem 0}summary{cursor:pointer}:focus-visible{outline:2px solid var(--mark);"
    "outline-offset:2px}pre{overflow-x:auto;background:var(--card);padding:.7rem;"
    "font-size:.8rem}\n"
    "@media (max-width:44rem){table.says thead{position:absolute;left:-999rem}table.says "
    "tr{display:"
    "block;padding:.3rem 0;border-bottom:1px solid var(--line)}table.says td{display:inline-block;"
    "border:0;padding:0 .8rem 0 0;text-align:left}table.says td.t{display:block;min-width:0}"
    "table.says td:empty{display:none}table.says td::before{content:attr(data-h) \" \";"
    "color:var(--soft)}}\n"
    "@media print{nav{display:none}}\n</style>\n";

/* A click on a head, or Enter there, sorts its table by that column, again the other way round;
 * cells without a value come last. */
static const char sorting[] =
    "\nconst units = {s: 1, min: 60, h: 3600, d: 86400};\n"
    "const key = (row, i) => {\n"
    "  const text = row.cells[i] ? row.cells[i].textContent.trim() : '';\n"
    "  const value = text.replace(/\\u202f/g, '').match(/^([-+]?[0-9.]+) ?(s|min|h|d|%)?$/);\n"
    "  const clock = text.match(/^(?:(\\d+)d )?(\\d+):(\\d+):(\\d+)$/);\n"
    "  return value ? value[1] * (units[value[2]] || 1)\n"
    "    : clock ? (clock[1] || 0) * 86400 + clock[2] * 3600 + clock[3] * 60 + +clock[4]\n"
    "    : text === '-' ? null : text || null; };\n"
    "const order = (p, q, turn) => p === null || q === null ? (p === null) - (q === null)\n"
    "  : turn * (typeof p === 'number' && typeof q === 'number' ? p - q\n"
    "    : String(p).localeCompare(String(q)));\n"
    "const sort = (head, i, body) => {\n"
    "  const turn = head.getAttribute('aria-sort') === 'descending' ? 1 : -1;\n"
    "  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');\n"
    "  head.setAttribute('aria-sort', turn < 0 ? 'descending' : 'ascending');\n"
    "  [...body.rows].sort((a, b) => order(key(a, i), key(b, i), turn))\n"
    "    .forEach(row => body.append(row)); };\n"
    "for (const table of document.querySelectorAll('table')) {\n"
    "  const body = table.tBodies[0];\n"
    "  if (!table.tHead || !body || body.rows.length < 3) continue;\n"
    "  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, i) => {\n"
    "    head.tabIndex = 0;\n"
    "    head.onclick = () => sort(head, i, body);\n"
    "    head.onkeydown = e => { if (e.key === 'Enter') sort(head, i, body); }; }); }\n";

void orr_report__begin(FILE *out, const char *title, bool wide)
{
    (void)fprintf(out,
                  ORR_REPORT_BEGIN "%s"
                                   "<style>\n@media (prefers-color-scheme:dark){\n",
                  head);
    orr_plot_dark_css(out, "figure svg");
    (void)fputs("}\n</style>\n<title>", out);
    orr_xml_text(out, title);
    (void)fprintf(out, "</title>\n</head>\n<body%s>\n<main>\n", wide ? " class=\"many\"" : "");
}

void orr_report__end(FILE *out)
{
    (void)fprintf(out, "</main>\n<script>%s</script>\n</body>\n</html>\n", sorting);
}

void orr_report__apart(const char *apart, FILE *out)
{
    if (apart != NULL) {
        (void)fputs("<p><b>", out);
        orr_xml_text(out, apart);
        (void)fputs("</b></p>\n", out);
    }
}

const char *orr_report__count(double value, const char *one, const char *many, char out[40])
{
    char number[40];
    (void)snprintf(out, 40, "%.23s %.15s", orr_report__number(value, number),
                   fabs(value - 1) < 1e-9 ? one : many);
    return out;
}

const char *orr_report__number(double value, char out[40])
{
    char digits[32];
    if (!isfinite(value)) {
        (void)snprintf(out, 40, "-");
        return out;
    }
    if (fabs(value) < 100 && fabs(value) >= 0.005 && fabs(value - round(value)) > 1e-9) {
        (void)snprintf(out, 40, fabs(value) < 10 ? "%.2f" : "%.1f", value);
        return out;
    }
    (void)snprintf(digits, sizeof digits, "%.0f", fmin(fabs(value), 1e15));
    size_t to = 0;
    if (value < 0 && strcmp(digits, "0") != 0) {
        out[to++] = '-';
    }
    for (size_t left = strlen(digits), i = 0; left > 0; left--, i++) {
        out[to++] = digits[i];
        if (left % 3 == 1 && left > 1) { /* a narrow space that does not break */
            memcpy(out + to, "\u202f", 3);
            to += 3;
        }
    }
    out[to] = '\0';
    return out;
}

static bool is_seconds(const char *name)
{
    return orr_ends_with(name, " s");
}

/* Of times of the run's clock, in milliseconds. */
static bool is_clock(const char *name)
{
    return orr_ends_with(name, " at");
}

#define LONG_TEXT 28 /* bytes; longer ones are broken into lines */

/* Whether a row has sentences: on a phone such a table shows a row as lines, not as columns. */
static bool has_sentences(sqlite3_stmt *row)
{
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        if (sqlite3_column_type(row, c) == SQLITE_TEXT &&
            sqlite3_column_bytes(row, c) > LONG_TEXT) {
            return true;
        }
    }
    return false;
}

static void write_label(const char *name, bool says, FILE *out)
{
    if (says) {
        (void)fprintf(out, " data-h=\"%.*s\"", (int)(strlen(name) - (is_seconds(name) ? 2 : 0)),
                      name);
    }
    (void)fputc('>', out);
}

static void write_cell(const struct orr_results *in, sqlite3_stmt *row, int column, bool says,
                       FILE *out)
{
    const char *name = sqlite3_column_name(row, column);
    const int type = sqlite3_column_type(row, column);
    const bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    char text[40];
    if (!number) {
        (void)fputs(sqlite3_column_bytes(row, column) > LONG_TEXT ? "<td class=\"t\"" : "<td", out);
        write_label(name, says, out);
        if (type != SQLITE_NULL) {
            orr_xml_text(out, (const char *)sqlite3_column_text(row, column));
        }
    } else {
        const double value = sqlite3_column_double(row, column);
        (void)fputs("<td class=\"n\"", out);
        write_label(name, says, out);
        (void)fputs(is_seconds(name) ? orr_format_rough(text, value)
                    : is_clock(name) ? orr_results_when(in, sqlite3_column_int64(row, column), text)
                                     : orr_report__number(value, text),
                    out);
    }
    (void)fputs("</td>", out);
}

static void write_heads(sqlite3_stmt *row, bool says, FILE *out)
{
    (void)fprintf(out, "<div class=\"wide\"><table%s>\n<thead><tr>", says ? " class=\"says\"" : "");
    for (int c = 0; c < sqlite3_column_count(row); c++) {
        const char *name = sqlite3_column_name(row, c);
        const int type = sqlite3_column_type(row, c);
        const size_t bytes = strlen(name) - (is_seconds(name) ? 2 : 0);
        (void)fputs(type == SQLITE_TEXT ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"n\">",
                    out);
        (void)fprintf(out, "%.*s</th>", (int)bytes, name);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
}

void orr_report__table(struct orr_results *in, const char *sql, uint32_t most, const char *empty,
                       FILE *out)
{
    sqlite3_stmt *row = orr_results_prepare(in, sql);
    uint32_t count = 0;
    bool says = false;
    while (orr_results_step(in, row)) {
        if (count == 0) {
            says = has_sentences(row);
            write_heads(row, says, out);
        }
        if (count++ >= most) {
            continue;
        }
        (void)fputs("<tr>", out);
        for (int c = 0; c < sqlite3_column_count(row); c++) {
            write_cell(in, row, c, says, out);
        }
        (void)fputs("</tr>\n", out);
    }
    if (count > 0) {
        (void)fputs("</tbody></table></div>\n", out);
    } else {
        (void)fprintf(out, "<p class=\"soft\">%s</p>\n", empty);
    }
    if (count > most) {
        (void)fprintf(out, "<p class=\"soft\">... and %u more.</p>\n", count - most);
    }
}

void orr_report__svg(FILE *in, FILE *out)
{
    char line[65536];
    bool inside = false;
    while (fgets(line, sizeof line, in) != NULL) { /* without the prolog of a file of its own */
        const char *start = inside ? line : strstr(line, "<svg");
        if (start != NULL) {
            inside = true;
            (void)fputs(start, out);
        }
    }
}
