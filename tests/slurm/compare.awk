# SPDX-License-Identifier: GPL-3.0-or-later
# Is a run what slurmctld did? Files: starts.csv of the repetition, starts.csv of the other one, and `orrery export
# RUN.db jobs`. INTERVAL: bf_interval in seconds. Prints what differs; "equal" when nothing does.
#
# Jobs whose real starts are less than 1.5 s apart may be in either order; a start may be 2 s and a cycle of backfill
# away; the nodes are those of one repetition.
# "n[1-2,4]" to "n1 n2 n4"
function expand(list,    prefix, range, part, n, i, k, text) {
    if (!match(list, /\[/)) return list
    prefix = substr(list, 1, RSTART - 1)
    n = split(substr(list, RSTART + 1, length(list) - RSTART - 1), range, ",")
    for (i = 1; i <= n; i++) {
        split(range[i] "-" range[i], part, "-")
        for (k = part[1]; k <= part[2]; k++) text = text (text == "" ? "" : " ") prefix k
    }
    return text
}
function differs(text) { print text; different++ }
{ sub(/\r$/, "") }
FNR == 1 { file++; next }
file < 3 {
    cells($0, cell)
    again = (file, cell[2]) in nodes # it was queued again: the time is that of its first start, the nodes are its last
    if (file == 1 && !again) {
        order[++count] = cell[2]
        real[cell[2]] = cell[4] == "never" ? "never" : cell[4] + 0
    }
    nodes[file, cell[2]] = expand(cell[5])
}
file == 3 {
    cells($0, cell)
    start[cell[1]] = cell[8] == "" ? "" : cell[8] + 0
    where[cell[1]] = cell[14]
    gsub(/:[0-9]+/, "", where[cell[1]])
}
END {
    for (i = 1; i <= count; i++) {
        job = order[i]
        if (real[job] == "never") {
            if (start[job] != "" && start[job] <= last_real) differs(job " starts at " start[job] ", but never did")
            continue
        }
        last_real = real[job]
        if (start[job] == "") { differs(job " never starts"); continue }
        gap = start[job] - real[job]
        if (gap > 2 + INTERVAL || gap < -2 - INTERVAL) differs(job " starts at " start[job] ", not " real[job])
        if (where[job] != nodes[1, job] && where[job] != nodes[2, job])
            differs(job " runs on " where[job] ", not " nodes[1, job])
        for (k = i + 1; k <= count; k++)
            if (real[order[k]] != "never" && real[order[k]] - real[job] >= 1.5 && start[order[k]] != "" &&
                start[order[k]] < start[job])
                differs(order[k] " starts before " job)
    }
    for (job in start) # refused at submit, or never started by the end of the record
        if (start[job] != "" && !(job in real) && start[job] <= last_real) differs(job " starts at " start[job] ", but is no start of the record")
    if (!different) print "equal"
}
