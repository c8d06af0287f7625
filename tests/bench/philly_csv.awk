# SPDX-License-Identifier: GPL-3.0-or-later
# The shipped trace (job,submit_s,run_s,gpus,queue,...) as the CSV its publishers used, which the
# limit program reads too. Time 0 is 2017-09-04 10:30:41.
function date(days,    z, era, doe, yoe, doy, mp, y, m) { # of days since 1970-01-01
    z = days + 719468; era = int(z / 146097); doe = z - era * 146097
    yoe = int((doe - int(doe / 1460) + int(doe / 36524) - int(doe / 146096)) / 365)
    doy = doe - (365 * yoe + int(yoe / 4) - int(yoe / 100)); mp = int((5 * doy + 2) / 153)
    m = mp < 10 ? mp + 3 : mp - 9; y = yoe + era * 400 + (m <= 2)
    return sprintf("%04d-%02d-%02d", y, m, doy - int((153 * mp + 2) / 5) + 1)
}
BEGIN { FS = OFS = ","; print "timestamp", "duration", "num_gpus", "gpu_time", "cluster" }
NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
{
    t = $(c["submit_s"]) + 1504521041; s = t % 86400
    print date((t - s) / 86400) sprintf(" %02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60),
        $(c["run_s"]), $(c["gpus"]), $(c["run_s"]) * $(c["gpus"]), $(c["queue"])
}
