/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP: the only way out
 *
 * libmicrohttpd with its own few threads, on TCP and on a Unix socket. A request reads the
 * latest published Snapshot and, for history, the store through the thread's own Reader.
 * Nothing here can make the loop wait, and nothing here changes anything.
 */

#include <stddef.h>
#include <stdint.h>

#include "http/http_stats.h"
#include "snapshot/snapshot.h"
#include "util/scoped.h"

typedef struct HttpConfig {
        int tcp_fd;  /* listening TCP socket, taken over; -1: none */
        int unix_fd; /* listening Unix socket, taken over; -1: none */
        unsigned n_threads;
        unsigned connections_max; /* in all, per listener */
        unsigned connections_per_ip_max; /* and per user on the Unix socket */
        unsigned timeout_s;       /* idle connections are closed */
        const char *store_path;   /* borrowed */
        struct WalBarrier *store_wal_barrier;  /* borrowed; NULL: there is no such file */
        uint64_t question_timeout_ns;
} HttpConfig;

typedef struct Http Http;

int http_new(Http **ret, const HttpConfig *config);
Http *http_free(Http *http);
DEFINE_SCOPED(Http, http_free);

/*
 * A snapshot nobody reads at the moment, to be filled at once and then published or abandoned: who asks meanwhile may be waiting.
 * A previous filling is still in it, its arrays for reuse. NULL when all are being read (then this tick is not published: the
 * next will be).
 */
Snapshot *http_snapshot_begin(Http *http);
void http_snapshot_publish(Http *http, Snapshot *snapshot);
void http_snapshot_abandon(Http *http);
/* What /-/ready answers: set once recovery is done, cleared when draining. */
void http_set_ready(Http *http, bool ready);
void http_stats(const Http *http, HttpStats *ret);
