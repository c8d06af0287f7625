# SPDX-License-Identifier: GPL-3.0-or-later
# The jobs of a record are sleeps, which go on while they are suspended: what is left of their run time when they do
# not work meanwhile. Files: rows "job start_s from_s to_s" of suspensions, then the jobs as they were submitted.
BEGIN { FS = OFS = "," }
FNR == 1 { file++ }
file == 1 { count[$1]++; start[$1] = $2; from[$1, count[$1]] = $3; to[$1, count[$1]] = $4; next }
FNR > 1 && $1 in count {
    left = $3
    over = start[$1] + $3
    for (i = 1; i <= count[$1]; i++) {
        until = to[$1, i] < over ? to[$1, i] : over
        left -= until > from[$1, i] ? until - from[$1, i] : 0
        if (from[$1, i] <= over && over <= to[$1, i]) left += 0.001 # it wakes up and ends
    }
    $3 = left
}
{ print }
