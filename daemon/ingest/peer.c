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
#define SO_PEERPIDFD 77 /* defined by headers since Linux 6.5 */
#endif

#define STATUS_BYTES_MAX 65536U /* bytes of /proc/PID/status */

/* Reads the effective uid of the process: the second number of its "Uid:" line, which SO_PEERCRED reports as of
 * connect(2). */
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
 * The peer may have ended after connect(2), and its pid may belong to another process. If the process is still alive
 * after the check, the checked process is the returned one: therefore it belongs to the peer's user, and a pid that
 * was reused by another user is never accepted. A pid that was reused by the same user cannot be detected; this
 * gives nobody further rights.
 */
int peer_open_pidfd(int32_t pid, uint32_t uid) {
        scoped(closep) int pidfd = -1;

        pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1; /* close-on-exec by default */
        if (pidfd < 0 || !belongs_to(pid, uid) || has_ended(pidfd))
                return -1;

        return TAKE_FD(pidfd);
}

int peer_get_pidfd(int fd, const Peer *peer) {
        int pidfd;
        socklen_t n = sizeof(pidfd);

        /* The kernel kept the process itself, not its pid: there is no race. Close-on-exec by default. */
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
        return 0;
}
