/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP thread: accepts the connections of one listening socket, and runs the library for them
 *
 * Connections are accepted in the order in which they came, so that those of a user who connects again and again
 * stand before those of others. The thread therefore charges a connection before the library has it, which takes
 * much less time than to answer and close one. Refused connections are answered when there is nothing else to do.
 */

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "http/connection_limits.h"
#include "http/exchange.h"
#include "snapshot/publisher.h"
#include "util/clock.h"

/* Refused connections that are not answered yet. */
#define HTTP_THREAD_REFUSED_MAX 256U

/* State that all threads share. */
typedef struct HttpThreadParts {
        ConnectionLimits *limits;
        atomic_uint_fast32_t *admin_gid;
        atomic_uint_fast64_t *n_exhausted; /* times that no descriptor was left */
} HttpThreadParts;

/* Connections that are accepted before the library runs. */
#define HTTP_THREAD_ACCEPTS_MAX 32U

/*
 * Accounts whose answers took long since the library began to look at its connections wait until it has looked at all:
 * a caller with many connections does not stand before others.
 */
#define HTTP_TURN_NS (200 * NS_PER_US)
typedef struct AnswerTurn {
        struct {
                const ShareAccount *account; /* identity only */
                uint64_t ns;
        } served[16]; /* further accounts do not wait */
        size_t n_served;
        struct MHD_Connection **waiting; /* owned; suspended; the oldest first */
        size_t n_waiting, n_allocated;
} AnswerTurn;

/*
 * Event streams: server-sent events of the connections of a thread
 *
 * The responses have no end. A response is suspended while there is no event, and resumed by the thread of its
 * connection, which http_tick() wakes after each snapshot: the loop never waits for a client. What a client has not
 * read yet is at most one event and a small buffer of the kernel; without progress for the limit of idle connections,
 * the connection is closed.
 */
typedef struct EventStream EventStream;
typedef struct EventStreams {
        ConnectionLimits *limits;      /* borrowed */
        LIST_HEAD(, EventStream) list; /* used by the thread only */
        atomic_size_t n;               /* length of the list */
        atomic_bool is_ending;         /* the streams end when they are resumed */
} EventStreams;

typedef struct HttpThread HttpThread;
struct HttpThread {
        HttpThreadParts parts;     /* borrowed */
        struct MHD_Daemon *daemon; /* borrowed; without a listening socket, and with an epoll descriptor */
        int listen_fd, wake_fd;    /* owned */
        pthread_t thread;
        bool is_running;
        atomic_bool is_retired, is_stopping;
        atomic_size_t n_connections, n_resuming;
        EventStreams streams;
        AnswerTurn turn; /* used by the thread only, as all below */

        struct {
                int fd; /* owned by the library */
                LimitedConnection *connection;
        /* the library has not reported these yet; since version 1.0, it does when it runs */
        } added[HTTP_THREAD_ACCEPTS_MAX];
        size_t n_added;
        uint64_t backoff_until_ns; /* accepts no connection before */
        RefusedConnection *refused; /* owned; the oldest first; NULL: none */
        size_t n_refused;
};

/* Starts the thread. Owns listen_fd, a listening socket that does not block, even on failure. 0 or a negative errno. */
int http_thread_start(HttpThread *thread, struct MHD_Daemon *daemon, int listen_fd, const HttpThreadParts *parts);
/* Accepts no further connections. */
void http_thread_retire(HttpThread *thread);
/* Ends the thread; the caller then stops the library. Accepts a thread that was not started, zeroed. */
void http_thread_stop(HttpThread *thread);

enum {
        HTTP_THREAD_REFUSED = 1,
};
/* Makes a stream, which is charged to the account of the connection. 0 with *ret; HTTP_THREAD_REFUSED: the share of
 * RESOURCE_STREAMS is used up; or -ENOMEM. */
int http_thread_respond_stream(HttpThread *thread, WriteEvent *write, Publisher *publisher,
                               struct MHD_Connection *connection, struct MHD_Response **ret);
/* Lets the streams of the thread send what is new, from any thread. */
void http_thread_wake_streams(HttpThread *thread);
/* Adds the time that an answer takes. */
void http_thread_note_answer(HttpThread *thread, const ShareAccount *account, uint64_t ns);
/* Returns true if an answer has to wait, and suspends its connection until the turn of another one. */
bool http_thread_wait_turn(HttpThread *thread, const ShareAccount *account, struct MHD_Connection *connection);
/* Resumes a suspended connection, from any thread. The library alone would notice only when something else happens. */
void http_thread_resume(HttpThread *thread, struct MHD_Connection *connection);
/* True if the library has no connection, and no thread resumes a connection. */
bool http_thread_is_idle(HttpThread *thread);

/* For the library's notification: returns the connection of a socket that was added, or removes one. */
LimitedConnection *http_thread_note_added(HttpThread *thread, int fd);
void http_thread_note_closed(HttpThread *thread, LimitedConnection *connection);
