/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/analysis/junit.h>

#include <string.h>

#include <orrery/analysis/xml.h>

static void attribute(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, " %s=\"", name);
    orr_xml_text(out, value);
    (void)fputc('"', out);
}

/* "file:line:col" as the two attributes that GitLab and others link to. */
static void place(FILE *out, const char *origin)
{
    char file[4200];
    const char *column = strrchr(origin, ':');
    const char *line = column;
    while (line != NULL && line > origin && line[-1] != ':') {
        line--;
    }
    if (line == NULL || line == origin || line == column ||
        strspn(line, "0123456789") != (size_t)(column - line)) {
        return;
    }
    (void)snprintf(file, sizeof file, "%.*s", (int)(line - 1 - origin), origin);
    attribute(out, "file", file);
    (void)fprintf(out, " line=\"%.*s\"", (int)(column - line), line);
}

static void print_case(const struct orr_junit *junit, const struct orr_junit_case *one, FILE *out)
{
    (void)fputs("  <testcase", out);
    attribute(out, "classname", junit->classname);
    attribute(out, "name", one->name);
    if (one->origin != NULL) {
        place(out, one->origin);
    }
    (void)fprintf(out, " time=\"%.3f\">\n    ", junit->time_s / junit->count);
    char text[2000];
    (void)snprintf(text, sizeof text, "%s: %s", one->word, one->text);
    if (one->verdict == ORR_JUNIT_PASS) {
        (void)fputs("<system-out>", out);
        orr_xml_text(out, text);
        (void)fputs("</system-out>\n", out);
    } else {
        const char *tag = one->verdict == ORR_JUNIT_FAILURE ? "failure" : "error";
        (void)fprintf(out, "<%s", tag);
        attribute(out, "type", one->word);
        attribute(out, "message", text);
        (void)fputc('>', out); /* some show the message, some what stands here */
        orr_xml_text(out, text);
        (void)fprintf(out, "</%s>\n", tag);
    }
    (void)fputs("  </testcase>\n", out);
}

void orr_junit_print(const struct orr_junit *junit, FILE *out)
{
    uint32_t by_verdict[3] = {0};
    for (uint32_t i = 0; i < junit->count; i++) {
        by_verdict[junit->cases[i].verdict]++;
    }
    (void)fputs(ORR_JUNIT_BEGIN, out);
    attribute(out, "name", junit->suite);
    (void)fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n", junit->count,
                  by_verdict[ORR_JUNIT_FAILURE], by_verdict[ORR_JUNIT_ERROR], junit->time_s);
    for (uint32_t i = 0; i < junit->count; i++) {
        print_case(junit, &junit->cases[i], out);
    }
    if (junit->notes != NULL) {
        (void)fputs("  <system-out>", out);
        orr_xml_text(out, junit->notes);
        (void)fputs("</system-out>\n", out);
    }
    (void)fputs("</testsuite>\n", out);
}
