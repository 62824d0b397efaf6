/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "util/clock.h"
#include "util/error_text.h"

const char *wire_path(const char *path) {
        if (!path || !*path)
                path = getenv("PERFD_SOCKET");

        return path && *path ? path : WIRE_SOCKET_DEFAULT;
}

void wire_init(Wire *wire) {
        wire->fd = -1;
        wire->n_requests = 0;
        wire->n_in = 0;
}

void wire_deinit(Wire *wire) {
        closep(&wire->fd);
        wire->fd = -1;
        wire->n_in = 0;
}

void wire_explain(const char *path, int error, char ret[static WIRE_ERROR_MAX]) {
        assert(error < 0);
        if (error == -ENOENT)
                snprintf(ret, WIRE_ERROR_MAX, "perfd is not running (no socket %.200s)", path);
        else
                snprintf(ret, WIRE_ERROR_MAX, "cannot connect to perfd at %.200s: %s", path,
                         error == -EPROTO ? "the peer does not speak the perfd protocol" : error_text(-error));
}

static uint64_t left_ns(uint64_t deadline_ns) {
        uint64_t now_ns = clock_boottime_ns();

        return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

static int wait_for(int fd, short events, uint64_t deadline_ns) {
        struct pollfd pollfd = { .fd = fd, .events = events };
        uint64_t ns = left_ns(deadline_ns);
        struct timespec left = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
        int r;

        r = ppoll(&pollfd, 1, &left, NULL);
        if (r < 0)
                return errno == EINTR ? 0 : -errno;

        return r == 0 ? -ETIMEDOUT : 0;
}

/* Waits after a failed send() or recv(). Returns 0 if the call can be repeated. */
static int wait_after_error(int fd, short events, uint64_t deadline_ns) {
        if (errno == EINTR)
                return 0;
        return errno == EAGAIN ? wait_for(fd, events, deadline_ns) : -errno;
}

/*
 * Waits until the listener's backlog has space. connect() must block for this: a non-blocking connect() fails with
 * EAGAIN and cannot be polled. SO_SNDTIMEO limits the time.
 */
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t deadline_ns) {
        uint64_t us = left_ns(deadline_ns) / NS_PER_US + 1; /* 0 would mean no timeout */
        struct timeval left = { .tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000) };
        int r;

        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0)
                return -errno;

        do
                r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
        while (r < 0 && errno == EINTR && left_ns(deadline_ns) > 0);

        if (r < 0)
                return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;

        return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

int wire_connect(Wire *wire, const char *path, uint64_t deadline_ns) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped(closep) int fd = -1;
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;

        r = connect_until(fd, &address, deadline_ns);
        if (r < 0)
                return r;

        wire_deinit(wire);
        wire->fd = TAKE_FD(fd);
        return 0;
}

uint64_t wire_next_sequence(Wire *wire) {
        return ++wire->n_requests;
}

static int send_all(Wire *wire, const Buffer *frame, uint64_t deadline_ns) {
        size_t n_sent = 0;
        int r;

        while (n_sent < frame->n) {
                ssize_t k = send(wire->fd, frame->text + n_sent, frame->n - n_sent, MSG_NOSIGNAL);

                if (k >= 0) {
                        n_sent += (size_t)k;
                        continue;
                }
                r = wait_after_error(wire->fd, POLLOUT, deadline_ns);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Removes the first reply from the buffer. Returns FRAME_PENDING if it is incomplete. */
static int take_reply(Wire *wire, Reply *ret) {
        Frame frame;
        int r;

        r = frame_read(wire->in, wire->n_in, sizeof(wire->in), &frame, NULL);
        if (r == FRAME_PENDING)
                return r;
        if (r != 0 || protocol_decode_reply(&frame, ret) != 0)
                return -EPROTO;

        assert(frame.n_consumed <= wire->n_in);
        wire->n_in -= frame.n_consumed;
        memmove(wire->in, wire->in + frame.n_consumed, wire->n_in);
        return 0;
}

static int receive(Wire *wire, uint64_t deadline_ns, Reply *ret) {
        ssize_t k;
        int r;

        for (;;) {
                r = take_reply(wire, ret);
                if (r != FRAME_PENDING)
                        return r;
                if (wire->n_in == sizeof(wire->in))
                        return -EPROTO;

                k = recv(wire->fd, wire->in + wire->n_in, sizeof(wire->in) - wire->n_in, 0);
                if (k == 0)
                        return -ECONNRESET;
                if (k > 0) {
                        wire->n_in += (size_t)k;
                        continue;
                }
                r = wait_after_error(wire->fd, POLLIN, deadline_ns);
                if (r < 0)
                        return r;
        }
}

/* Skips late replies to earlier requests. */
static int receive_reply(Wire *wire, uint64_t sequence, uint64_t deadline_ns, Reply *ret) {
        Reply reply;
        int r;

        do
                r = receive(wire, deadline_ns, &reply);
        while (r == 0 && reply.sequence != sequence && reply.sequence != 0);

        if (r == 0)
                *ret = reply;
        return r;
}

int wire_receive(Wire *wire, uint64_t sequence, uint64_t deadline_ns, Reply *ret) {
        int r;

        r = receive_reply(wire, sequence, deadline_ns, ret);
        if (r < 0 && r != -ETIMEDOUT)
                wire_deinit(wire);
        return r;
}

int wire_exchange(Wire *wire, const Buffer *frame, uint64_t sequence, uint64_t deadline_ns, Reply *ret) {
        int r, sent;

        /* If sending fails, perfd may have sent a reason before it closed the connection. */
        sent = send_all(wire, frame, deadline_ns);
        r = sent == -EPIPE || sent == -ECONNRESET ? 0 : sent;
        if (r == 0)
                r = receive_reply(wire, sequence, deadline_ns, ret);
        if (r == 0)
                return 0;

        if (r != -ETIMEDOUT || sent < 0)
                wire_deinit(wire);
        return sent < 0 ? sent : r;
}

int wire_ask_hello(const char *path, uint64_t deadline_ns, Reply *ret) {
        scoped(wire_deinit) Wire wire;
        scoped(buffer_deinit) Buffer frame = {};
        uint64_t sequence;
        int r;

        wire_init(&wire);
        sequence = wire_next_sequence(&wire);
        r = protocol_encode_hello(sequence, "perfctl " PERFD_VERSION, &frame);
        if (r < 0)
                return r;

        r = wire_connect(&wire, path, deadline_ns);
        return r < 0 ? r : wire_exchange(&wire, &frame, sequence, deadline_ns, ret);
}
