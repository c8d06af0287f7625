#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# sql.sh SOURCE: the oldest SQLite that is served (3.37, of Ubuntu 22.04) reads what newer ones do. It
# wants GROUP BY before HAVING, and knows no RIGHT or FULL JOIN, no IS DISTINCT FROM and no ->. Functions
# of mathematics are in some builds only.
set -eu
cd "$1"
find analysis sim tests -name '*.sql' | sort | xargs awk '
    function last(text, word,    at, from) {
        for (from = 0; (at = index(substr(text, from + 1), word)) > 0;) from += at
        return from
    }
    FNR == 1 { text = "" }
    { sub(/--.*/, "") }
    /(RIGHT|FULL)( OUTER)? JOIN|IS (NOT )?DISTINCT FROM|->|(^|[^_a-z])(sqrt|pow|power|exp|ln|log|log2|log10|ceil|ceiling|floor|mod|format|unixepoch|string_agg|concat)\(/ { print FILENAME ":" FNR ": " $0; bad = 1 }
    {
        text = text "\n" $0
        if ((at = last(text, "HAVING")) > 0) {
            before = substr(text, 1, at - 1)
            if (last(before, "GROUP BY") <= last(before, "SELECT")) {
                print FILENAME ":" FNR ": HAVING without GROUP BY"
                bad = 1
            }
            text = substr(text, at + 6)
        }
        if (/;/) text = ""
    }
    END { exit bad }'
