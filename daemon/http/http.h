/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP server
 *
 * Runs libmicrohttpd with a thread for TCP and a thread for the Unix socket. These answer what the current Snapshot knows. A request that
 * needs the store is suspended and answered by a few threads that have a Reader each (queries.h). Connections and queries are charged to
 * their users. The server is read-only and never makes the loop wait.
 */

#include <stddef.h>
#include <stdint.h>

#include "http/http_stats.h"
#include "shares/shares.h"
#include "snapshot/publisher.h"
#include "util/scoped.h"

struct WalBarrier;

typedef struct HttpConfig {
        unsigned n_threads;              /* that one user's queries may keep busy; one more thread is for the others */
        uint64_t timeout_ns;             /* after which an idle connection is closed; whole seconds */
        uint64_t query_timeout_ns;       /* for one question to the store */
} HttpConfig;

typedef struct Http Http;

/* Sources of the answers. Borrowed. */
typedef struct HttpSources {
        Publisher *publisher;
        Shares *shares;
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
