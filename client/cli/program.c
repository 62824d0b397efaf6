/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "util/clock.h"
#include "util/error_text.h"

static int start(const ProgramRun *run, int out_fd, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none;
        int r;

        (void)sigemptyset(&none);
        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = posix_spawnattr_init(&attributes);
        if (r == 0) {
                (void)posix_spawnattr_setsigmask(&attributes, &none);
                (void)posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK |
                                                                    (run->has_group ? POSIX_SPAWN_SETPGROUP : 0)));
                (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
                (void)posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
                if (run->has_error_fd)
                        (void)posix_spawn_file_actions_adddup2(&actions, run->error_fd, STDERR_FILENO);
                r = posix_spawnp(ret, run->words[0], &actions, &attributes, run->words, run->environment ?: environ);
                (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static uint64_t time_left(uint64_t deadline) {
        uint64_t now = clock_boottime_ns();

        return now < deadline ? deadline - now : 0;
}

/* Reads to the end. 0, -ETIME, -EFBIG or another negative errno. */
static int read_output(int fd, uint64_t deadline, Buffer *out) {
        ssize_t k = 1;

        while (k > 0 || k == -EINTR) {
                struct pollfd poller = { .fd = fd, .events = POLLIN };
                uint64_t left_ms = time_left(deadline) / NS_PER_MS;
                int r;

                if (left_ms == 0)
                        return -ETIME;
                r = poll(&poller, 1, left_ms < INT_MAX ? (int)left_ms : -1);
                if (r < 0 && errno != EINTR)
                        return -errno;
                k = r > 0 ? buffer_read(out, fd) : -EINTR;
        }
        return (int)k;
}

/* Waits for the end of a program, which may have closed its output long before. SIGCHLD is blocked. 0, -ETIME or
 * another negative errno. */
static int await(pid_t pid, uint64_t deadline, int *ret_status) {
        sigset_t ends;
        pid_t ended;

        sigemptyset(&ends);
        sigaddset(&ends, SIGCHLD);
        while ((ended = waitpid(pid, ret_status, WNOHANG)) != pid) {
                uint64_t left = time_left(deadline);

                if (ended < 0 && errno != EINTR)
                        return -errno;
                if (left == 0)
                        return -ETIME;
                (void)sigtimedwait(&ends, NULL,
                                   &(struct timespec){ (time_t)(left / NS_PER_S), (long)(left % NS_PER_S) });
        }
        return 0;
}

int program_run(const ProgramRun *run, Buffer *out, int *ret_status) {
        uint64_t deadline = run->timeout_ns > 0 ? clock_boottime_ns() + run->timeout_ns : INT64_MAX;
        scoped(closep) int out_fd = -1;
        struct sigaction action;
        int fds[2] = { -1, -1 }, r;
        sigset_t ends, before;
        pid_t pid;

        if (out && pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        out_fd = fds[0];
        /* until the end of the program has been awaited, so that it cannot be missed */
        sigemptyset(&ends);
        sigaddset(&ends, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &ends, &before);
        /* if a shell has it ignored, the kernel forgets the status */
        (void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, &action);
        r = start(run, out ? fds[1] : STDERR_FILENO, &pid);
        closep(&fds[1]);
        if (r == 0) {
                r = out ? read_output(out_fd, deadline, out) : 0;
                if (r == 0)
                        r = await(pid, deadline, ret_status);
                if (r < 0) {
                        (void)kill(run->has_group ? -pid : pid, SIGKILL);
                        (void)waitpid(pid, ret_status, 0);
                }
        }
        (void)sigaction(SIGCHLD, &action, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}

int program_become(const char *program, const char *package, char *const *argv) {
        static const char *const places[] = { "", "../libexec/perfd/" };
        char own[PATH_MAX] = "", path[2 * PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
        char *slash = n > 0 ? strrchr(own, '/') : NULL;

        for (size_t i = 0; slash && i < N_ELEMENTS(places); i++) {
                (void)snprintf(path, sizeof(path), "%.*s%s%s", (int)(slash - own) + 1, own, places[i], program);
                (void)execv(path, argv);
        }
        message_print("cannot run %s: %s (package %s)", program, error_text(errno), package);
        return EXIT_FAILED;
}
