/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/scoped.h"

#define PATIENCE_NS (5 * NS_PER_S)
#define LOOK_NS (20 * NS_PER_MS)

typedef struct GuardGroups {
        pid_t all[SWEEP_JOBS_MAX];
        size_t n;
} GuardGroups;

/* A negative number is a group that has ended. */
static void take(GuardGroups *groups, pid_t group) {
        if (group > 0 && groups->n < SWEEP_JOBS_MAX)
                groups->all[groups->n++] = group;
        for (size_t i = 0; group < 0 && i < groups->n; i++)
                if (groups->all[i] == -group)
                        groups->all[i--] = groups->all[--groups->n];
}

static void follow(int fd, GuardGroups *ret) {
        ssize_t n;
        pid_t group;

        while ((n = recv(fd, &group, sizeof(group), 0)) != 0) {
                if (n < 0 && errno == EINTR)
                        continue;
                if (n != sizeof(group))
                        return;
                take(ret, group);
        }
}

/* Forgets groups without processes. */
static void tell(GuardGroups *groups, int signal) {
        for (size_t i = 0; i < groups->n; i++)
                if (kill(-groups->all[i], signal) < 0 && errno == ESRCH)
                        groups->all[i--] = groups->all[--groups->n];
}

static void end_groups(GuardGroups *groups) {
        const struct timespec look = { .tv_nsec = (long)LOOK_NS };
        uint64_t begin_ns = clock_boottime_ns();

        tell(groups, SIGTERM);
        tell(groups, SIGCONT); /* a stopped process does not end otherwise */
        while (groups->n > 0 && clock_boottime_ns() - begin_ns < PATIENCE_NS) {
                (void)nanosleep(&look, NULL);
                tell(groups, 0);
        }
        tell(groups, SIGKILL);
}

/* Runs in the process of the guard, which ignores signals for the sweep and closes the files of the sweep. */
__attribute__((noreturn))
static void guard(int fd, int directory_fd) {
        static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
        GuardGroups groups = {};
        int null;

        (void)setsid();
        (void)prctl(PR_SET_NAME, "perfctl-guard");
        for (size_t i = 0; i < N_ELEMENTS(ignored); i++)
                (void)signal(ignored[i], SIG_IGN);
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int i = 0; i < 3; i++)
                (void)dup2(null, i);
        file_close_others(fd, directory_fd);

        follow(fd, &groups);
        end_groups(&groups);
        _exit(0);
}

int sweep_guard_start(SweepGuard *ret, int directory_fd) {
        int fds[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        pid = fork();
        if (pid < 0) {
                int error = errno;

                (void)close(fds[0]);
                (void)close(fds[1]);
                return -error;
        }
        if (pid == 0) {
                (void)close(fds[1]);
                guard(fds[0], directory_fd);
        }

        (void)close(fds[0]);
        *ret = (SweepGuard){ .fd = fds[1], .pid = pid };
        return 0;
}

/* A failed send is ignored: the sweep works without its guard. */
void sweep_guard_tell(const SweepGuard *guard, pid_t group) {
        while (guard->pid > 0 && send(guard->fd, &group, sizeof(group), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
}

void sweep_guard_deinit(SweepGuard *guard) {
        if (guard->pid <= 0)
                return;
        (void)close(guard->fd);
        while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        *guard = SWEEP_GUARD_NONE;
}
