/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Queries: requests that read the store, answered by a few threads
 *
 * The threads that run the HTTP library never read the store: they queue a Query here and suspend its connection.
 * The threads of http.c take queries from the users in turn, so that a user with many queries delays the others by
 * at most one query. There is one more thread than a user may occupy, so that one thread is always free for other
 * users.
 */

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "shares/shares.h"

struct HttpThread;
struct MHD_Connection;
struct MHD_Response;

typedef struct QueryUser QueryUser;

/* Request of a client; borrowed from the library. */
typedef struct HttpRequest {
        struct MHD_Connection *connection;
        const char *method, *path;
        struct HttpThread *thread; /* of the connection */
} HttpRequest;

typedef struct HttpResponse {
        struct MHD_Response *response; /* owned; NULL: out of memory */
        unsigned status;
} HttpResponse;

typedef struct Query {
        Charge charge; /* charge of RESOURCE_QUERIES; its account is the user's */
        HttpRequest request; /* suspended until the response exists */
        HttpResponse response;
        QueryUser *user;                   /* set while the query is in the queue */
        TAILQ_ENTRY(Query) waiting;
} Query;

typedef struct Queries {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        TAILQ_HEAD(, QueryUser) users; /* users with queries that wait or run, in turn */
        unsigned running_per_user_max;
        bool is_stopping;
} Queries;

void queries_init(Queries *queries, unsigned running_per_user_max);
/* Call when no query is left. */
void queries_deinit(Queries *queries);

/* Adds a query, which must stay until queries_done(). 0, QUERIES_STOPPED, or -ENOMEM. */
enum {
        QUERIES_STOPPED = 1,
};
int queries_put(Queries *queries, Query *query);
/* Waits for a query and takes it. After queries_stop(), returns the waiting queries, to be answered at once, then
 * NULL. */
Query *queries_take(Queries *queries);
/* Reports that a taken query has ended, and does not access it any more. */
void queries_done(Queries *queries, Query *query);

/* Lets queries_take() return NULL when no query waits. */
void queries_stop(Queries *queries);
bool queries_is_stopping(Queries *queries);
