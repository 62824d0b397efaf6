/* SPDX-License-Identifier: Apache-2.0 */
#include "http/queries.h"

#include <assert.h>
#include <errno.h>

#include "util/lock.h"

/* A user with queries that wait or run. */
struct QueryUser {
        const ShareAccount *account; /* identity only */
        TAILQ_HEAD(, Query) waiting;
        unsigned n_running;
        TAILQ_ENTRY(QueryUser) users;
};

void queries_init(Queries *queries, unsigned running_per_user_max) {
        assert(running_per_user_max > 0);
        *queries = (Queries){ .running_per_user_max = running_per_user_max };
        (void)pthread_mutex_init(&queries->mutex, NULL);
        (void)pthread_cond_init(&queries->changed, NULL);
        TAILQ_INIT(&queries->users);
}

void queries_deinit(Queries *queries) {
        assert(TAILQ_EMPTY(&queries->users));
        (void)pthread_cond_destroy(&queries->changed);
        (void)pthread_mutex_destroy(&queries->mutex);
}

static QueryUser *find_or_add_user(Queries *queries, const ShareAccount *account) {
        QueryUser *user;

        TAILQ_FOREACH(user, &queries->users, users)
                if (user->account == account)
                        return user;

        user = calloc(1, sizeof(*user));
        if (!user)
                return NULL;
        user->account = account;
        TAILQ_INIT(&user->waiting);
        TAILQ_INSERT_TAIL(&queries->users, user, users);
        return user;
}

int queries_put(Queries *queries, Query *query) {
        assert(query->charge.account && !query->user);
        LOCKED(&queries->mutex);
        if (queries->is_stopping)
                return QUERIES_STOPPED;

        query->user = find_or_add_user(queries, query->charge.account);
        if (!query->user)
                return -ENOMEM;

        TAILQ_INSERT_TAIL(&query->user->waiting, query, waiting);
        (void)pthread_cond_signal(&queries->changed);
        return 0;
}

/* Returns the first user in turn whose query may run now. */
static QueryUser *choose_user(Queries *queries) {
        QueryUser *user;

        TAILQ_FOREACH(user, &queries->users, users)
                if (!TAILQ_EMPTY(&user->waiting) &&
                    (user->n_running < queries->running_per_user_max || queries->is_stopping))
                        return user;
        return NULL;
}

Query *queries_take(Queries *queries) {
        Query *query = NULL;
        QueryUser *user;

        LOCKED(&queries->mutex);
        while (!(user = choose_user(queries)) && !queries->is_stopping)
                (void)pthread_cond_wait(&queries->changed, &queries->mutex);
        if (user) {
                query = TAILQ_FIRST(&user->waiting);
                TAILQ_REMOVE(&user->waiting, query, waiting);
                user->n_running++;
                TAILQ_REMOVE(&queries->users, user, users); /* then it is the next user's turn */
                TAILQ_INSERT_TAIL(&queries->users, user, users);
        }
        return query;
}

void queries_done(Queries *queries, Query *query) {
        QueryUser *user = query->user;

        LOCKED(&queries->mutex);
        assert(user && user->n_running > 0);
        query->user = NULL;
        user->n_running--;
        if (user->n_running == 0 && TAILQ_EMPTY(&user->waiting)) {
                TAILQ_REMOVE(&queries->users, user, users);
                free(user);
        } else
                (void)pthread_cond_signal(&queries->changed); /* the user's next query may run */
}

void queries_stop(Queries *queries) {
        LOCKED(&queries->mutex);

        queries->is_stopping = true;
        (void)pthread_cond_broadcast(&queries->changed);
}

bool queries_is_stopping(Queries *queries) {
        LOCKED(&queries->mutex);

        return queries->is_stopping;
}
