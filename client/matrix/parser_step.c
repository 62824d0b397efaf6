/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/parser_step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/encoding.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define EXEC_FAILED 127

static pid_t start(char *const *command, const sigset_t *mask, int *ret_fd) {
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0) {
                /* with a group of its own, all that it started can be ended */
                (void)setpgid(0, 0);
                (void)sigprocmask(SIG_SETMASK, mask, NULL);
                (void)dup2(ends[1], STDOUT_FILENO);
                (void)close(STDIN_FILENO);
                (void)open("/dev/null", O_RDONLY);
                (void)execvp(command[0], command);
                _exit(EXEC_FAILED);
        }
        (void)close(ends[1]);
        /* also here: whichever of the two processes runs first */
        if (pid > 0)
                (void)setpgid(pid, pid);
        if (pid < 0) {
                int error = errno;

                (void)close(ends[0]);
                return -error;
        }
        *ret_fd = ends[0];
        return pid;
}

/* Reads to the end. 0, -ETIME, -EFBIG or another negative errno. */
static int read_output(int fd, uint64_t deadline, Buffer *out) {
        ssize_t k = 1;

        out->n_max = PARSER_STEP_BYTES_MAX;
        while (k > 0 || k == -EINTR) {
                struct pollfd poller = { .fd = fd, .events = POLLIN };
                uint64_t now = clock_boottime_ns();
                int r;

                if (now >= deadline)
                        return -ETIME;
                r = poll(&poller, 1, (int)((deadline - now) / NS_PER_MS) + 1);
                if (r < 0 && errno != EINTR)
                        return -errno;
                k = r > 0 ? buffer_read(out, fd) : -EINTR;
        }
        return (int)k;
}

/* Waits for the end of a program, which may have closed its output long before. 0 or -ETIME. */
static int await(pid_t pid, uint64_t deadline, int *ret_status) {
        sigset_t ends;

        sigemptyset(&ends);
        sigaddset(&ends, SIGCHLD);
        while (waitpid(pid, ret_status, WNOHANG) != pid) {
                uint64_t now = clock_boottime_ns(), left = now < deadline ? deadline - now : 0;

                if (left == 0)
                        return -ETIME;
                (void)sigtimedwait(&ends, NULL,
                                   &(struct timespec){ (time_t)(left / NS_PER_S), (long)(left % NS_PER_S) });
        }
        return 0;
}

static int run(char *const *command, uint64_t timeout_ns, Buffer *out, int *ret_status) {
        uint64_t deadline = clock_boottime_ns() + timeout_ns;
        scoped(closep) int fd = -1;
        sigset_t ends, before;
        pid_t pid;
        int r;

        /* until the end of the program has been awaited, so that it cannot be missed */
        sigemptyset(&ends);
        sigaddset(&ends, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &ends, &before);
        pid = start(command, &before, &fd);
        r = pid < 0 ? (int)pid : read_output(fd, deadline, out);
        if (pid > 0 && r == 0)
                r = await(pid, deadline, ret_status);
        if (pid > 0 && r < 0) {
                (void)kill(-pid, SIGKILL);
                (void)waitpid(pid, ret_status, 0);
        }
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}

/* Says why the program has no values. False: nothing is wrong. */
static bool complain(int r, int status, const char *program, const char *name, Findings *findings) {
        if (r == -ETIME)
                findings_error(findings, "%s: %s did not end within parser_timeout", name, program);
        else if (r == -EFBIG)
                findings_error(findings, "%s: %s printed more than %u MiB", name, program, PARSER_STEP_BYTES_MAX >> 20);
        else if (r < 0)
                findings_error(findings, "%s: %s: %s", name, program, error_text(-r));
        else if (WIFSIGNALED(status))
                findings_error(findings, "%s: %s was ended by signal %d", name, program, WTERMSIG(status));
        else if (WEXITSTATUS(status) == EXEC_FAILED)
                findings_error(findings, "%s: %s cannot be run, or exited with 127", name, program);
        else if (WEXITSTATUS(status) != 0)
                findings_error(findings, "%s: %s exited with %d", name, program, WEXITSTATUS(status));
        else
                return false;
        return true;
}

int parser_step_run(const Value *words, const char *directory, const char *name, uint64_t timeout_ns, Arena *arena,
                    const Value **ret, Findings *findings) {
        scoped(freep) char **command = calloc(words->n_items + 2, sizeof(*command));
        const char *program = words->items[0].string;
        scoped(buffer_deinit) Buffer out = {};
        ValueError error;
        int r, status = 0;

        *ret = NULL;
        if (!command)
                return -ENOMEM;
        for (size_t i = 0; i < words->n_items; i++)
                command[i] = (char *)words->items[i].string;
        command[words->n_items] = (char *)directory;
        r = run(command, timeout_ns, &out, &status);
        if (complain(r, status, program, name, findings))
                return 0;
        if (out.n > 0 && encoding_unify(out.text, &out.n) == ENCODING_FOREIGN)
                r = VALUE_END;
        else
                r = value_parse_only(out.text, out.n, arena, ret, &error);
        if (r < 0)
                return r;
        if (r == VALUE_MALFORMED)
                findings_error(findings, "%s: %s:%u:%u: %s", name, program, error.line, error.column, error.text);
        else if (r != 0 || (*ret)->type != VALUE_OBJECT)
                findings_error(findings, "%s: %s printed no JSON object of values", name, program);
        if (r != 0 || (*ret)->type != VALUE_OBJECT)
                *ret = NULL;
        return 0;
}
