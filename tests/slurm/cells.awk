# SPDX-License-Identifier: GPL-3.0-or-later
# A line of CSV; cells may be in quotes. Returns how many there are.
function cells(line, out,    n, c, text, quoted, i) {
    n = 1
    text = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) { out[n++] = text; text = "" }
        else text = text c
    }
    out[n] = text
    return n
}
