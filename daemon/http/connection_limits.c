/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection_limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "util/lock.h"

struct LimitedConnection {
        int fd; /* owned by the library; -1: free entry */
        Caller caller;
        Charge charge; /* holds the account */
        uint64_t since_ns;
};

struct ConnectionLimits {
        pthread_mutex_t mutex;
        Shares *shares; /* borrowed */
        size_t n, n_max;
        LimitedConnection connections[];
};

int connection_limits_new(ConnectionLimits **ret, Shares *shares) {
        size_t n_max = shares_limit(shares, RESOURCE_HTTP_CONNECTIONS);
        ConnectionLimits *limits;

        limits = calloc(1, sizeof(*limits) + n_max * sizeof(limits->connections[0]));
        if (!limits)
                return -ENOMEM;

        (void)pthread_mutex_init(&limits->mutex, NULL);
        limits->n_max = n_max;
        limits->shares = shares;
        for (size_t i = 0; i < n_max; i++)
                limits->connections[i].fd = -1;

        *ret = limits;
        return 0;
}

ConnectionLimits *connection_limits_free(ConnectionLimits *limits) {
        if (!limits)
                return NULL;

        (void)pthread_mutex_destroy(&limits->mutex);
        free(limits);
        return NULL;
}

/* Charges a connection to its user. SHARES_REFUSED: *ret_reason has the reason. */
static int charge_caller(Shares *shares, const Caller *caller, Charge *ret, char ret_reason[SHARES_REASON_MAX]) {
        Account *account = shares_open_account(shares, &caller->owner);
        int r = SHARES_REFUSED;

        (void)snprintf(ret_reason, SHARES_REASON_MAX, "perfd has no memory for this connection: try again later");
        if (account)
                r = shares_charge(account, RESOURCE_HTTP_CONNECTIONS, 1, ret);
        if (account && r != 0)
                shares_explain(account, RESOURCE_HTTP_CONNECTIONS, ret_reason);
        shares_close_account(account); /* the charge has a reference */
        return r;
}

/* Answers a connection whose socket the library will find shut down. */
static void refuse(int fd, const char *reason) {
        char text[SHARES_REASON_MAX + 256];
        int n = snprintf(text, sizeof(text),
                         "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                         "Retry-After: 1\r\nConnection: close\r\n\r\n%s\n",
                         strlen(reason) + 1, reason);

        assert(n > 0 && (size_t)n < sizeof(text));
        (void)send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(fd, SHUT_RDWR);
}

static LimitedConnection *find_place(ConnectionLimits *limits) {
        for (size_t i = 0; i < limits->n_max; i++)
                if (limits->connections[i].fd < 0)
                        return &limits->connections[i];
        return NULL;
}

LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint32_t admin_gid, uint64_t now_ns) {
        LimitedConnection added = { .fd = fd, .since_ns = now_ns }, *connection;
        char reason[SHARES_REASON_MAX];

        caller_identify(fd, admin_gid, &added.caller);
        if (charge_caller(limits->shares, &added.caller, &added.charge, reason) != 0) {
                refuse(fd, reason);
                return NULL;
        }

        pthread_mutex_lock(&limits->mutex);
        connection = find_place(limits);
        if (connection) {
                *connection = added;
                limits->n++;
        }
        pthread_mutex_unlock(&limits->mutex);
        if (!connection) {
                shares_release(&added.charge);
                refuse(fd, "the limit of all connections is reached ([limits] http_connections): try again later");
        }
        return connection;
}

size_t connection_limits_max(const ConnectionLimits *limits) {
        return limits->n_max;
}

Account *connection_limits_account(const LimitedConnection *connection) {
        return connection->charge.account;
}

Caller connection_limits_caller(const LimitedConnection *connection, uint32_t admin_gid) {
        Caller caller = connection->caller;

        caller.owner.is_admin = caller_is_admin(connection->fd, admin_gid, &caller);
        return caller;
}

void connection_limits_renew(ConnectionLimits *limits, LimitedConnection *connection, uint64_t now_ns) {
        if (!connection)
                return;

        LOCKED(&limits->mutex);
        assert(connection >= limits->connections && connection < limits->connections + limits->n_max);
        connection->since_ns = now_ns;
}

void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection) {
        Charge charge;

        if (!connection)
                return;

        pthread_mutex_lock(&limits->mutex);
        assert(limits->n > 0 && connection->fd >= 0);
        charge = connection->charge;
        connection->fd = -1;
        limits->n--;
        pthread_mutex_unlock(&limits->mutex);
        shares_release(&charge);
}

void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns) {
        if (pthread_mutex_trylock(&limits->mutex) != 0)
                return;

        /* Most ticks have no connection and leave the table out of the caches. */
        for (size_t i = 0; limits->n > 0 && i < limits->n_max; i++)
                if (limits->connections[i].fd >= 0 && limits->connections[i].since_ns < since_ns)
                        (void)shutdown(limits->connections[i].fd, SHUT_RDWR);
        pthread_mutex_unlock(&limits->mutex);
}

size_t connection_limits_count(ConnectionLimits *limits) {
        LOCKED(&limits->mutex);

        return limits->n;
}
