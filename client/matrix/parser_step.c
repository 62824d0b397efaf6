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

static pid_t start(char *const *command, int *ret_fd) {
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0) {
                /* with a group of its own, all that it started can be ended */
                (void)setpgid(0, 0);
                (void)dup2(ends[1], STDOUT_FILENO);
                (void)close(STDIN_FILENO);
                (void)open("/dev/null", O_RDONLY);
                (void)execvp(command[0], command);
                _exit(EXEC_FAILED);
        }
        (void)close(ends[1]);
        if (pid < 0) {
                int error = errno;

                (void)close(ends[0]);
                return -error;
        }
        *ret_fd = ends[0];
        return pid;
}

/* Reads to the end. 0, -ETIME, -EFBIG or another negative errno. */
static int read_output(int fd, uint64_t timeout_ns, Buffer *out) {
        uint64_t now = clock_boottime_ns(), deadline = now + timeout_ns;
        ssize_t k = 1;

        out->n_max = PARSER_STEP_BYTES_MAX;
        while (k > 0 || k == -EINTR) {
                struct pollfd poller = { .fd = fd, .events = POLLIN };
                int r;

                now = clock_boottime_ns();
                if (now >= deadline)
                        return -ETIME;
                r = poll(&poller, 1, (int)((deadline - now) / NS_PER_MS) + 1);
                if (r < 0 && errno != EINTR)
                        return -errno;
                k = r > 0 ? buffer_read(out, fd) : -EINTR;
        }
        return (int)k;
}

static int run(char *const *command, uint64_t timeout_ns, Buffer *out, int *ret_status) {
        scoped(closep) int fd = -1;
        pid_t pid = start(command, &fd);
        int r;

        if (pid < 0)
                return (int)pid;
        r = read_output(fd, timeout_ns, out);
        if (r < 0)
                (void)kill(-pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
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
