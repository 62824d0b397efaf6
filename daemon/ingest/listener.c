/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "ingest/codec/codec.h"
#include "ingest/peer.h"
#include "util/scoped.h"
#include "util/utf8.h"

static int open_reserve(void) {
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int listener_init(Listener *listener, int fd) {
        int flags;

        *listener = (Listener){ .fd = fd, .reserve_fd = open_reserve() };

        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;

        return 0;
}

void listener_deinit(Listener *listener) {
        closep(&listener->fd);
        closep(&listener->reserve_fd);
        *listener = (Listener){ -1, -1 };
}

static int accept_one(const Listener *listener) {
        return accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void refuse_first(Listener *listener) {
        int fd;

        if (listener->reserve_fd >= 0) {
                close(TAKE_FD(listener->reserve_fd));
                fd = accept_one(listener);
                if (fd >= 0) {
                        listener_refuse(fd, "perfd has no file descriptors left: try again");
                        close(fd);
                }
        }
        listener->reserve_fd = open_reserve();
}

int listener_accept(Listener *listener, int *ret_fd, Peer *ret_peer) {
        scoped(closep) int fd = -1;

        do
                fd = accept_one(listener);
        while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));

        if (fd < 0 && errno == EAGAIN)
                return LISTENER_NOBODY;
        if (fd < 0 || peer_read(fd, ret_peer) < 0) {
                refuse_first(listener);
                return LISTENER_EXHAUSTED;
        }

        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* A new socket has room for one reply; if sending fails anyway, nothing else can be done. */
void listener_refuse(int fd, const char *sentence) {
        Answer answer = { .status = STATUS_QUOTA };
        uint8_t reply[CODEC_REPLY_MAX];
        size_t n;

        utf8_copy(answer.complaint.text, sizeof(answer.complaint.text), sentence);
        n = codec_encode_answer(0, &answer, reply);
        (void)send(fd, reply, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}
