/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.h - how a function says that the outside world is wrong, and where.
 *
 * Three kinds of failure, kept apart:
 *   a bug                      ORR_ASSERT: prints and aborts (exit 70)
 *   no memory                  orr_out_of_memory(): prints and aborts with errno ENOMEM (exit 71)
 *   the outside world is wrong enum orr_status, with one printable sentence in struct orr_err
 *   an expected no             bool, or an enum of reasons
 * An orr_err is untouched on success. The first error written stays: the layer that knows a fact
 * reports it, callers only hand it on. NULL is allowed wherever an orr_err is taken.
 */
#ifndef ORR_BASE_STATUS_H
#define ORR_BASE_STATUS_H

#include <orrery/base/units.h>

ORR_API_BEGIN

/* status, sysexits code the program ends with */
#define ORR_STATUS_LIST(X)                                                                         \
    X(OK, 0)                                                                                       \
    X(USAGE, 64)       /* the command line */                                                      \
    X(DATA, 65)        /* input data wrong */                                                      \
    X(NO_INPUT, 66)    /* input missing */                                                         \
    X(UNAVAILABLE, 69) /* an optional program is absent */                                         \
    X(BUG, 70)         /* an invariant broke */                                                    \
    X(NO_MEMORY, 71)   /* of a process that this one started */                                    \
    X(CANT_CREATE, 73) /* an output cannot be created */                                           \
    X(IO, 74)          /* writing or reading failed part way */                                    \
    X(SCENARIO, 78)    /* the scenario is wrong */                                                 \
    X(POLICY, 70)      /* a policy broke a law it declared */                                      \
    X(PLUGIN, 70)      /* a policy from outside went wrong */                                      \
    X(INTERRUPTED, 130)

enum orr_status {
#define X(name, code) ORR_##name,
    ORR_STATUS_LIST(X)
#undef X
        ORR_STATUS_COUNT
};

/* Exit code of a status. */
int orr_status_exit_code(enum orr_status status);

struct orr_err {
    enum orr_status status;
    char text[1000]; /* one or more printable lines without a final newline */
};

/* Writes the error unless one is there already, and returns its status for `return orr_fail(...)`.
 */
enum orr_status orr_fail(struct orr_err *err, enum orr_status status, const char *format, ...)
    ORR_PRINTF(3, 4);

/* Puts "prefix: " before the text of an error, for a caller that knows which file it was. */
void orr_err_prefix(struct orr_err *err, const char *format, ...) ORR_PRINTF(2, 3);

/* A bug: says what and where on standard error and aborts. Never returns. */
ORR_NORETURN void orr_panic(const char *what, const char *file, int line);

/* No memory: says so on standard error and aborts with errno ENOMEM, by which a handler of SIGABRT
 * tells it from a bug. Nothing is half-written; the handler removes temporary files. */
ORR_NORETURN void orr_out_of_memory(void);

/* For a library that failed without a reason, after errno was set to 0: was it the memory? */
void orr_check_memory(void);

#define ORR_ASSERT(x) ((x) ? (void)0 : orr_panic(#x, __FILE__, __LINE__))

ORR_API_END

#endif
