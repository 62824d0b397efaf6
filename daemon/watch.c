#include "watch.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

bool watch_is_alive(const Node *node, const JobInfo *info) {
        uint64_t start_ticks;
        uint32_t uid;
        int r;

        if (info->pid == 0)
                return true;

        r = node_process_start(node, info->pid, &start_ticks, &uid);
        return r == 0 ? start_ticks == info->pid_start_ticks : r != -ESRCH;
}

int watch_open(const Node *node, const JobInfo *info, int *ret_fd) {
        scoped(closep) int fd = -1;

        fd = (int)syscall(SYS_pidfd_open, info->pid, 0);
        if (fd < 0)
                return errno == ESRCH ? WATCH_GONE : -errno;
        /* Opened first, then compared: from here on the descriptor is the process we mean. */
        if (!watch_is_alive(node, info))
                return WATCH_GONE;

        *ret_fd = TAKE_FD(fd);
        return 0;
}
