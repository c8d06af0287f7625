# SPDX-License-Identifier: GPL-3.0-or-later
# `orrery VERB --help`, written without a right margin and with meanings far to the right, as a manual page.
#   awk -v verb=VERB -v summary=TEXT -v version=VERSION -f man.awk

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}
# text(LINE): a line of running text.
function text(line) { print escape(line) }

BEGIN {
    name = verb == "" ? "orrery" : "orrery-" verb
    printf ".TH %s 1 \"\" \"orrery %s\" \"User Commands\"\n", toupper(name), version
    printf ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", escape(name), escape(summary)
    state = "usage"
}
/^Mandatory or optional arguments/ { state = "tail"; getline; next }
/^ *-\?, --help/ || /^ +--usage/ || /^ +-V, --version/ || /^  -V, --version/ { next }
state == "usage" && /^(Usage| +or):/ {
    sub(/^(Usage| +or): /, "")
    printf ".B %s\n.br\n", escape($0)
    next
}
state == "usage" {
    print ".SH DESCRIPTION"
    state = "description"
}
# The verbs, and options: two blanks or more stand between a name and what it means.
/^  +[-a-z]/ && match($0, /[^ ]  +[^ ]/) {
    if (state != "options") {
        if (state != "group") print verb == "" ? ".SH VERBS" : ".SH OPTIONS"
        state = "options"
    }
    left = substr($0, 1, RSTART)
    right = substr($0, RSTART + RLENGTH - 1)
    sub(/^ +/, "", left)
    printf ".TP\n.B %s\n%s\n", escape(left), escape(right)
    next
}
/^ [^ ].*:$/ {
    if (state != "options" && state != "group") print ".SH OPTIONS"
    state = "group"
    sub(/^ /, "")
    printf ".SS %s\n", escape(substr($0, 1, length($0) - 1))
    next
}
/^$/ { if (state == "description") print ".PP"; next }
state == "options" || state == "group" { state = "tail" }
state == "tail" && !tail { print ".SH NOTES"; tail = 1 }
/^ +/ && state != "options" { sub(/^ +/, ""); printf ".br\n.B %s\n", escape($0); next }
{ text($0) }
END {
    print ".SH EXIT STATUS"
    print "0 yes; 1 the answer is no; 2 not known; 64 wrong usage; 65 wrong data; 66 no such input; 69 a program is missing;"
    print "70 a bug; 71 out of memory; 73, 74 cannot write; 78 wrong scenario; 130 interrupted."
    if (verb != "") print ".SH SEE ALSO\n.BR orrery (1)"
}
