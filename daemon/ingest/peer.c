/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "util/file.h"
#include "util/scan.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 has it, headers before do not */
#endif

#define STATUS_BYTES_MAX 65536U /* of /proc/PID/status */

/* The process's effective uid: the second number of its "Uid:" line, and what SO_PEERCRED gives for the moment of connect(2). */
static bool belongs_to(int32_t pid, uint32_t uid) {
        scoped(freep) char *text = NULL;
        uint64_t real, effective;
        char path[32];
        const char *p;

        snprintf(path, sizeof(path), "/proc/%d/status", pid);
        if (file_read_at(AT_FDCWD, path, STATUS_BYTES_MAX, &text, NULL) < 0)
                return false;

        p = strstr(text, "\nUid:");
        p = p ? scan_u64(scan_blanks(p + strlen("\nUid:")), &real) : NULL;
        p = p ? scan_u64(scan_blanks(p), &effective) : NULL;
        return p && effective == uid;
}

static bool has_ended(int pidfd) {
        struct pollfd pollfd = { .fd = pidfd, .events = POLLIN };

        return poll(&pollfd, 1, 0) != 0;
}

/*
 * Between connect(2) and this the peer may have ended, and its number may be another's. A process that was alive after
 * it was looked at was the one that was looked at, so what is returned belongs to the peer's user: a number that went
 * to another user is never taken for the peer. One that went to another process of the same user cannot be told; that
 * gives nobody a right that the user does not have.
 */
int peer_open_pidfd(int32_t pid, uint32_t uid) {
        scoped(closep) int pidfd = -1;

        pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; /* close-on-exec by itself */
        if (pidfd < 0 || !belongs_to(pid, uid) || has_ended(pidfd))
                return -1;

        return TAKE_FD(pidfd);
}

static int get_pidfd(int fd, const Peer *peer) {
        int pidfd;
        socklen_t n = sizeof(pidfd);

        /* The kernel kept the process itself, not its number: there is no race. Close-on-exec as well. */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0)
                return pidfd;

        return errno == ENOPROTOOPT ? peer_open_pidfd(peer->pid, peer->uid) : -1;
}

int peer_read(int fd, Peer *ret) {
        struct ucred ucred;
        socklen_t n = sizeof(ucred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &n) < 0)
                return -errno;

        *ret = (Peer){ .uid = ucred.uid, .gid = ucred.gid, .pid = ucred.pid, .pidfd = -1, .is_admin = ucred.uid == 0 };
        ret->pidfd = get_pidfd(fd, ret);
        return 0;
}
