/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cputime OUTPUT COMMAND...: runs it with its standard output in a file and prints the CPU seconds,
 * user and system, of the whole process. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "usage: cputime OUTPUT COMMAND...\n");
        return 64;
    }
    pid_t child = fork();
    if (child == 0) {
        int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
        int null = open("/dev/null", O_WRONLY);
        if (out >= 0 && null >= 0 && dup2(out, 1) >= 0 && dup2(null, 2) >= 0) {
            (void)execv(argv[2], argv + 2);
        }
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
        getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        (void)fprintf(stderr, "cputime: %s failed\n", argv[2]);
        return 1;
    }
    (void)printf("%.6f\n", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return 0;
}
