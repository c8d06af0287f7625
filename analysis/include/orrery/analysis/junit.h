/* SPDX-License-Identifier: GPL-3.0-or-later */
/* junit.h - verdicts as JUnit XML, the form in which continuous integration shows them. */
#ifndef ORR_ANALYSIS_JUNIT_H
#define ORR_ANALYSIS_JUNIT_H

#include <stdint.h>
#include <stdio.h>

/* What such a file begins with. */
#define ORR_JUNIT_BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite"

enum orr_junit_verdict { ORR_JUNIT_PASS, ORR_JUNIT_FAILURE, ORR_JUNIT_ERROR };

struct orr_junit_case {
    const char *name, *text; /* text: what was seen, also of what passed */
    const char *origin;      /* "file:line:col" that asks for it; NULL: nothing does */
    enum orr_junit_verdict verdict;
    const char *word; /* the verdict's name: the type of what did not pass, and before the text */
};

struct orr_junit {
    const char *suite, *classname;
    const struct orr_junit_case *cases;
    uint32_t count;
    double time_s;     /* of all of them. They come of the same runs: each is given an equal part */
    const char *notes; /* lines for people; NULL: none */
};

void orr_junit_print(const struct orr_junit *junit, FILE *out);

#endif
