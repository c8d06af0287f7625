# SPDX-License-Identifier: GPL-3.0-or-later
# The rules of OpenMetrics 1.0 that a text of gauges can break: families stand together, say HELP once
# and first, samples of one label set stand together in order of time, the text ends with # EOF.
function wrong(what) { print FILENAME ":" FNR ": " what ": " $0; bad = 1 }
ended { wrong("after the end") }
/^# EOF$/ { ended = 1; next }
/^# (HELP|TYPE) / {
    if (match($3, /^[a-zA-Z_:][a-zA-Z0-9_:]*$/) == 0) wrong("name")
    if ($2 == "HELP") { if ($3 in helped) wrong("helped twice"); helped[$3] = 1; family = $3 }
    if ($3 != family) wrong("type of another family")
    if ($2 == "TYPE" && $4 != "gauge" && $4 != "counter" && $4 != "unknown") wrong("type")
    next
}
/^#/ || /^$/ { wrong("line"); next }
{
    if (match($0, /^[a-zA-Z_:][a-zA-Z0-9_:]*[{]([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\\\|\\"|\\n)*",?)*[}] /) == 0) { wrong("sample"); next }
    set = substr($0, 1, RLENGTH - 1); rest = substr($0, RLENGTH + 1)
    if (rest !~ /^-?[0-9.]+(e[-+]?[0-9]+)? -?[0-9]+([.][0-9]+)?$/) { wrong("value or time"); next }
    name = set; sub(/[{].*/, "", name)
    split(rest, part, " ")
    if (name != family) wrong("sample of another family")
    if (set != last) { if (set in seen) wrong("label set again"); seen[set] = 1 } else if (part[2] + 0 <= time + 0) wrong("time")
    last = set; time = part[2]; samples++
}
END { if (!ended) { print "no # EOF"; bad = 1 } if (samples == 0) { print "no samples"; bad = 1 } exit bad }
