/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "util/array.h"
#include "util/thread.h"

#define REFUSALS_PER_TURN 8U
#define BACKOFF_NS (100 * NS_PER_MS)

/* --- event streams --------------------------------------------------------------------------------- */

/* Size of the blocks in which the library asks for text. */
#define BLOCK_BYTES 4096U
/* Events that the kernel holds for a slow client. */
#define SEND_BUFFER_BYTES (16 * 1024)

struct EventStream {
        WriteEvent *write;
        Publisher *publisher; /* borrowed, as all but the text */
        EventStreams *all;
        struct MHD_Connection *connection;
        LimitedConnection *limited;
        Charge charge;
        uint64_t position; /* of the last event */
        Buffer text;       /* of the current event */
        size_t n_sent;
        bool is_listed, is_suspended;
        LIST_ENTRY(EventStream) streams;
};

static void on_released(void *userdata) {
        EventStream *stream = userdata;

        if (stream->is_listed) {
                LIST_REMOVE(stream, streams);
                atomic_fetch_sub(&stream->all->n, 1);
        }
        shares_release(&stream->charge);
        buffer_deinit(&stream->text);
        free(stream);
}

/* Writes the next event into the text; empty: there is none yet. */
static void write_next(EventStream *stream) {
        const Snapshot *snapshot = publisher_acquire(stream->publisher);

        buffer_clear(&stream->text);
        stream->n_sent = 0;
        if (snapshot)
                stream->write(snapshot, &stream->position, &stream->text);
        publisher_release(stream->publisher, snapshot);
}

/* Called by the thread of the connection alone. */
static ssize_t on_read(void *userdata, uint64_t offset, char *ret, size_t n) {
        EventStream *stream = userdata;

        (void)offset;
        stream->is_suspended = false;
        if (!stream->is_listed) {
                LIST_INSERT_HEAD(&stream->all->list, stream, streams);
                atomic_fetch_add(&stream->all->n, 1);
                stream->is_listed = true;
        }
        if (atomic_load(&stream->all->is_ending))
                return MHD_CONTENT_READER_END_OF_STREAM;

        if (stream->n_sent == stream->text.n) {
                connection_limits_renew(stream->all->limits, stream->limited, clock_boottime_ns());
                write_next(stream);
        }
        if (buffer_error(&stream->text) < 0)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->text.n == 0) {
                stream->is_suspended = true;
                MHD_suspend_connection(stream->connection);
                return 0;
        }

        n = stream->text.n - stream->n_sent < n ? stream->text.n - stream->n_sent : n;
        memcpy(ret, stream->text.text + stream->n_sent, n);
        stream->n_sent += n;
        return (ssize_t)n;
}

int http_thread_respond_stream(HttpThread *thread, WriteEvent *write, Publisher *publisher,
                               struct MHD_Connection *connection, struct MHD_Response **ret) {
        /* The library may answer all questions in one place: each answer is valid until the next question. */
        LimitedConnection *limited = MHD_get_connection_info(connection,
                                                             MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        EventStream *stream = calloc(1, sizeof(*stream));

        if (!stream)
                return -ENOMEM;
        *stream = (EventStream){ .write = write, .publisher = publisher, .all = &thread->streams,
                                 .connection = connection, .limited = limited };
        if (shares_charge(connection_limits_account(stream->limited), RESOURCE_STREAMS, 1, &stream->charge) != 0) {
                free(stream);
                return HTTP_THREAD_REFUSED;
        }

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER_BYTES }, sizeof(int));
        *ret = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, stream, on_released);
        if (!*ret) {
                on_released(stream);
                return -ENOMEM;
        }
        (void)MHD_add_response_header(*ret, "Connection", "close");
        (void)MHD_add_response_header(*ret, "X-Accel-Buffering", "no"); /* nginx would collect events */
        return 0;
}

/* Resumes all streams, so that they send what is new, or end. */
static void resume_streams(EventStreams *streams) {
        EventStream *stream;

        LIST_FOREACH(stream, &streams->list, streams)
                if (stream->is_suspended)
                        MHD_resume_connection(stream->connection);
}

/* --- refused connections ------------------------------------------------------------------------ */

static void answer_refused(HttpThread *thread, size_t n) {
        if (n > thread->n_refused)
                n = thread->n_refused;
        for (size_t i = 0; i < n; i++)
                connection_limits_refuse(thread->parts.limits, &thread->refused[i]);
        thread->n_refused -= n;
        if (thread->n_refused == 0) {
                free(TAKE(thread->refused));
                return;
        }
        memmove(thread->refused, thread->refused + n, thread->n_refused * sizeof(thread->refused[0]));
}

static void put_refused(HttpThread *thread, const RefusedConnection *refused) {
        if (thread->n_refused == HTTP_THREAD_REFUSED_MAX)
                answer_refused(thread, REFUSALS_PER_TURN);
        if (!thread->refused)
                thread->refused = calloc(HTTP_THREAD_REFUSED_MAX, sizeof(*thread->refused));
        if (!thread->refused) {
                connection_limits_refuse(thread->parts.limits, refused);
                return;
        }
        thread->refused[thread->n_refused++] = *refused;
}

/* --- accepting ---------------------------------------------------------------------------------- */

/* Returns the connection of a socket, and forgets it; NULL: unknown. */
static LimitedConnection *take_added(HttpThread *thread, int fd) {
        for (size_t i = 0; i < thread->n_added; i++)
                if (thread->added[i].fd == fd) {
                        LimitedConnection *connection = thread->added[i].connection;

                        thread->added[i] = thread->added[--thread->n_added];
                        return connection;
                }
        return NULL;
}

/* Charges a connection and hands it to the library; takes ownership of fd. */
static void admit(HttpThread *thread, int fd, const struct sockaddr *address, socklen_t n_address) {
        LimitedConnection *connection;
        RefusedConnection refused;

        connection = connection_limits_add(thread->parts.limits, fd, (uint32_t)atomic_load(thread->parts.admin_gid),
                                           clock_boottime_ns(), &refused);
        if (!connection) {
                put_refused(thread, &refused);
                return;
        }

        thread->added[thread->n_added].fd = fd;
        thread->added[thread->n_added++].connection = connection;
        atomic_fetch_add(&thread->n_connections, 1);
        if (MHD_add_connection(thread->daemon, fd, address, n_address) == MHD_YES)
                return;
        connection = take_added(thread, fd);
        if (connection)
                http_thread_note_closed(thread, connection);
}

/* Removes connections that the library has closed without a report. */
static void remove_added(HttpThread *thread) {
        while (thread->n_added > 0)
                http_thread_note_closed(thread, thread->added[--thread->n_added].connection);
}

/* Returns false if no connection is left to accept. */
static bool accept_one(HttpThread *thread) {
        struct sockaddr_storage address = {};
        socklen_t n = sizeof(address);
        int fd;

        fd = accept4(thread->listen_fd, (struct sockaddr *)&address, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
                admit(thread, fd, (struct sockaddr *)&address, n);
                return true;
        }
        if (errno == EINTR || errno == ECONNABORTED)
                return true;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                atomic_fetch_add(thread->parts.n_exhausted, 1);
        if (errno != EAGAIN)
                thread->backoff_until_ns = clock_boottime_ns() + BACKOFF_NS;
        return false;
}

static void accept_waiting(HttpThread *thread) {
        for (unsigned i = 0; i < HTTP_THREAD_ACCEPTS_MAX && accept_one(thread); i++)
                ;
}

/* --- turns of accounts --------------------------------------------------------------------------- */

void http_thread_note_answer(HttpThread *thread, const ShareAccount *account, uint64_t ns) {
        AnswerTurn *turn = &thread->turn;
        size_t i = 0;

        while (i < turn->n_served && turn->served[i].account != account)
                i++;
        if (i == N_ELEMENTS(turn->served))
                return;
        if (i == turn->n_served) {
                turn->served[turn->n_served].account = account;
                turn->served[turn->n_served++].ns = 0;
        }
        turn->served[i].ns += ns;
}

/* The library closes a suspended connection without an answer if the client has ended its side. */
static bool is_half_closed(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct pollfd fd = { .fd = info->connect_fd, .events = POLLRDHUP };

        return poll(&fd, 1, 0) > 0;
}

bool http_thread_wait_turn(HttpThread *thread, const ShareAccount *account, struct MHD_Connection *connection) {
        AnswerTurn *turn = &thread->turn;
        bool is_over = false;

        if (atomic_load(&thread->is_stopping)) /* nothing would resume it */
                return false;
        for (size_t i = 0; i < turn->n_served; i++)
                is_over |= turn->served[i].account == account && turn->served[i].ns > HTTP_TURN_NS;
        if (!is_over || is_half_closed(connection) ||
            ARRAY_RESERVE(turn->waiting, turn->n_allocated, turn->n_waiting + 1) < 0)
                return false;
        turn->waiting[turn->n_waiting++] = connection;
        MHD_suspend_connection(connection);
        return true;
}

static void end_turn(HttpThread *thread, size_t n_resumed) {
        AnswerTurn *turn = &thread->turn;

        turn->n_served = 0;
        for (; n_resumed > 0 && turn->n_waiting > 0; n_resumed--) {
                http_thread_resume(thread, turn->waiting[0]);
                memmove(turn->waiting, turn->waiting + 1, --turn->n_waiting * sizeof(*turn->waiting));
        }
}

/* --- the thread --------------------------------------------------------------------------------- */

/* Returns for how long the thread may wait; -1: without end. */
static int find_timeout_ms(HttpThread *thread, bool is_backing_off) {
        MHD_UNSIGNED_LONG_LONG library_ms = 0;
        bool has_timeout = MHD_get_timeout(thread->daemon, &library_ms) == MHD_YES;
        uint64_t ms = has_timeout ? library_ms : UINT64_MAX;

        if (thread->n_refused > 0)
                return 0;
        if (is_backing_off && ms > BACKOFF_NS / NS_PER_MS)
                ms = BACKOFF_NS / NS_PER_MS;
        return ms > INT32_MAX ? -1 : (int)ms;
}

static void run_once(HttpThread *thread, int library_fd) {
        bool is_backing_off = thread->backoff_until_ns > 0 && clock_boottime_ns() < thread->backoff_until_ns;
        bool is_accepting = !is_backing_off && !atomic_load(&thread->is_retired);
        struct pollfd fds[] = {
                { .fd = is_accepting ? thread->listen_fd : -1, .events = POLLIN },
                { .fd = library_fd, .events = POLLIN },
                { .fd = thread->wake_fd, .events = POLLIN },
        };
        int n = poll(fds, N_ELEMENTS(fds), find_timeout_ms(thread, is_backing_off));
        eventfd_t unused;

        if (n > 0 && fds[0].revents)
                accept_waiting(thread);
        if (n > 0 && fds[2].revents)
                (void)eventfd_read(thread->wake_fd, &unused);
        if (n > 0 && fds[2].revents)
                resume_streams(&thread->streams);
        (void)MHD_run(thread->daemon);
        end_turn(thread, 1);
        remove_added(thread);
        if (n == 0)
                answer_refused(thread, REFUSALS_PER_TURN);
}

static void *on_start(void *userdata) {
        HttpThread *thread = userdata;
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(thread->daemon, MHD_DAEMON_INFO_EPOLL_FD);

        assert(info);
        pthread_setname_np(pthread_self(), "perfd-http");
        while (!atomic_load(&thread->is_stopping))
                run_once(thread, info->epoll_fd);
        resume_streams(&thread->streams); /* the library aborts when it ends with a suspended connection */
        end_turn(thread, SIZE_MAX);
        (void)MHD_run(thread->daemon);
        answer_refused(thread, thread->n_refused);
        return NULL;
}

int http_thread_start(HttpThread *thread, struct MHD_Daemon *daemon, int listen_fd, const HttpThreadParts *parts) {
        int r;

        *thread = (HttpThread){ .parts = *parts, .daemon = daemon, .listen_fd = listen_fd };
        thread->streams.limits = parts->limits;
        thread->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        r = thread->wake_fd >= 0 ? thread_start(&thread->thread, on_start, thread) : -errno;
        thread->is_running = r == 0;
        if (r < 0) {
                closep(&thread->wake_fd);
                close(listen_fd);
        }
        return r;
}

void http_thread_retire(HttpThread *thread) {
        atomic_store(&thread->is_retired, true);
        atomic_store(&thread->streams.is_ending, true);
        (void)eventfd_write(thread->wake_fd, 1);
}

void http_thread_stop(HttpThread *thread) {
        if (!thread->is_running)
                return;

        atomic_store(&thread->is_stopping, true);
        atomic_store(&thread->streams.is_ending, true);
        (void)eventfd_write(thread->wake_fd, 1);
        (void)pthread_join(thread->thread, NULL);
        thread->is_running = false;
        free(TAKE(thread->turn.waiting));
        closep(&thread->wake_fd);
        closep(&thread->listen_fd);
}

void http_thread_wake_streams(HttpThread *thread) {
        if (atomic_load(&thread->streams.n) > 0)
                (void)eventfd_write(thread->wake_fd, 1);
}

/* --- for the library ---------------------------------------------------------------------------- */

void http_thread_resume(HttpThread *thread, struct MHD_Connection *connection) {
        atomic_fetch_add(&thread->n_resuming, 1);
        MHD_resume_connection(connection); /* from here on, the connection may end */
        (void)eventfd_write(thread->wake_fd, 1);
        atomic_fetch_sub(&thread->n_resuming, 1);
}

bool http_thread_is_idle(HttpThread *thread) {
        return atomic_load(&thread->n_connections) == 0 && atomic_load(&thread->n_resuming) == 0;
}

LimitedConnection *http_thread_note_added(HttpThread *thread, int fd) {
        LimitedConnection *connection = take_added(thread, fd);

        assert(connection);
        return connection;
}

void http_thread_note_closed(HttpThread *thread, LimitedConnection *connection) {
        assert(atomic_load(&thread->n_connections) > 0);
        connection_limits_remove(thread->parts.limits, connection);
        atomic_fetch_sub(&thread->n_connections, 1);
}
