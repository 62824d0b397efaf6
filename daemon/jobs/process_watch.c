/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/process_watch.h"

#include <assert.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

bool process_watch_is_alive(const Node *node, int32_t pid, uint64_t start_ticks) {
        uint64_t present_ticks;
        uint32_t uid;
        int r;

        if (pid == 0)
                return true;

        r = node_process_start(node, pid, &present_ticks, &uid);
        return r == 0 ? present_ticks == start_ticks : r != -ESRCH;
}

int process_watch_open(const Node *node, int32_t pid, uint64_t start_ticks, int *ret_fd) {
        scoped(closep) int fd = -1;

        assert(pid != 0);

        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return errno == ESRCH ? PROCESS_WATCH_GONE : -errno;
        /* Compares after opening: the descriptor then refers to the process that was compared. */
        if (!process_watch_is_alive(node, pid, start_ticks))
                return PROCESS_WATCH_GONE;

        *ret_fd = TAKE_FD(fd);
        return 0;
}
