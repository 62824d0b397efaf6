/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP server
 *
 * Runs libmicrohttpd in a thread for TCP and a thread for the Unix socket (http_thread.h). These answer what the
 * current Snapshot knows. A request that needs the store is suspended and answered by a few threads that have a
 * Reader each (queries.h). Connections, queries and the answers that are not read yet are charged to their users.
 * The server is read-only and never makes the loop wait.
 */

#include <stdint.h>

#include "http/exchange.h"
#include "http/privacy.h"
#include "shares/shares.h"
#include "snapshot/publisher.h"
#include "util/scoped.h"

struct WalBarrier;

#define HTTP_HOSTS_MAX 1024U

typedef struct HttpConfig {
        /* threads that the queries of one user may occupy; one more thread is for the others */
        unsigned n_threads;
        uint64_t timeout_ns;             /* time after which an idle connection is closed; whole seconds */
        uint64_t query_timeout_ns;       /* time limit of one query of the store */
        Privacy privacy;
        SharesWeights readers; /* users who read names in /metrics, on the Unix socket; of [metrics] */
        SharesWeights proxies; /* users who name the user for whom they ask, on the Unix socket */
        /* group whose members are administrators on the Unix socket; not a setting of [http] */
        uint32_t admin_gid;
        /* names besides those of the node by which clients may address perfd, separated by blanks */
        char hosts[HTTP_HOSTS_MAX];
} HttpConfig;

typedef struct Http Http;

/* Sources of the answers. Borrowed. */
typedef struct HttpSources {
        Publisher *publisher;
        Shares *shares;
        const char *store_path;               /* path of the database */
        struct WalBarrier *store_wal_barrier; /* NULL: there is no database file */
        const char *hostname;
} HttpSources;

/* Takes over the listening Unix socket. Copies the configuration. Caller frees. */
int http_new(Http **ret, const HttpConfig *config, int unix_fd, const HttpSources *sources);
Http *http_free(Http *http);
DEFINE_SCOPED(Http, http_free);

/*
 * Serves TCP on a listening socket, which is taken over, instead of the former one; -1: on none. The former port is
 * free at once; requests on its connections are answered. 0 or < 0.
 */
int http_listen(Http *http, int fd);

/* Applies settings that may change while the server runs: privacy, and the administrators of later connections. */
void http_configure(Http *http, const HttpConfig *config);
/* Closes connections whose request takes too long, and ends the servers of former ports; called at each tick. */
void http_tick(Http *http);
/* Sets the answer of /-/ready: true once recovery is done, false while shutting down. */
void http_set_ready(Http *http, bool ready);
void http_stats(const Http *http, HttpStats *ret);
