/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plot_gnuplot.c - starts gnuplot with an argument list, without a shell. */
#include "plot_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: never returns. What went wrong before exec goes to the parent as an errno. */
ORR_NORETURN static void child(const char *dir, const char *script, const char *messages,
                               int to_parent)
{
    /* execvp takes char *const[]; it writes to none of them. */
    char name[] = "gnuplot", plain[] = "-d", file[512];
    (void)snprintf(file, sizeof file, "./%s", script);
    char *argv[] = {name, plain, file, NULL};
    int in = open("/dev/null", O_RDONLY);
    int out = -1;
    if (chdir(dir) == 0) {
        out = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    }
    if (in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0) {
        /* the scripts are UTF-8; in the C locale gnuplot complains that it has no degree sign */
        (void)setenv("LC_ALL", "C.UTF-8", 1);
        (void)execvp(argv[0], argv);
    }
    int why = errno;
    ssize_t put = write(to_parent, &why, sizeof why);
    _exit(put == (ssize_t)sizeof why ? 126 : 127);
}

enum orr_plot_ran orr_plot__gnuplot(const char *dir, const char *script, const char *messages)
{
    int failed[2];
    if (pipe(failed) != 0) {
        return ORR_PLOT_RAN_BADLY;
    }
    (void)fcntl(failed[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(failed[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        child(dir, script, messages, failed[1]);
    }
    (void)close(failed[1]);
    int why = 0;
    ssize_t got = 0;
    do {
        got = pid > 0 ? read(failed[0], &why, sizeof why) : 0;
    } while (got < 0 && errno == EINTR);
    (void)close(failed[0]);
    if (pid < 0) {
        return ORR_PLOT_RAN_BADLY;
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return ORR_PLOT_RAN_BADLY;
        }
    }
    if (got == (ssize_t)sizeof why) {
        return why == ENOENT || why == EACCES || why == ENOTDIR ? ORR_PLOT_NOT_THERE
                                                                : ORR_PLOT_RAN_BADLY;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ORR_PLOT_RAN : ORR_PLOT_RAN_BADLY;
}
