/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP server
 *
 * Runs libmicrohttpd with a few threads of its own, on TCP and on a Unix socket. A request reads the current Snapshot and,
 * for history, the store through a Reader of the thread. The server is read-only and never makes the loop wait.
 */

#include <stddef.h>
#include <stdint.h>

#include "http/http_stats.h"
#include "snapshot/publisher.h"
#include "util/scoped.h"

struct WalBarrier;

typedef struct HttpConfig {
        unsigned n_threads;
        unsigned connections_max;        /* for each listener */
        unsigned connections_per_ip_max; /* also for each user of the Unix socket */
        uint64_t timeout_ns;             /* after which an idle connection is closed; whole seconds */
        uint64_t query_timeout_ns;       /* for one question to the store */
} HttpConfig;

typedef struct Http Http;

/* Sources of the answers. Borrowed. */
typedef struct HttpSources {
        Publisher *publisher;
        const char *store_path;               /* of the database */
        struct WalBarrier *store_wal_barrier; /* NULL: there is no such file */
} HttpSources;

/* Takes over the listening sockets; -1: none. Copies the configuration. Caller frees. */
int http_new(Http **ret, const HttpConfig *config, int tcp_fd, int unix_fd, const HttpSources *sources);
Http *http_free(Http *http);
DEFINE_SCOPED(Http, http_free);

/* Closes connections whose request takes too long; called at each tick. */
void http_close_slow(Http *http);
/* Sets the answer of /-/ready: true once recovery is done, false while shutting down. */
void http_set_ready(Http *http, bool ready);
void http_stats(const Http *http, HttpStats *ret);
