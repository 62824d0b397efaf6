/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection_limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "util/lock.h"

struct LimitedConnection {
        size_t place; /* index in the table */
        int fd;       /* owned by the library */
        Caller caller;
        Charge charge; /* holds the account */
        Charge answer; /* of the answer that is being sent */
        uint64_t since_ns;
};

struct ConnectionLimits {
        pthread_mutex_t mutex;
        Shares *shares; /* borrowed */
        size_t n, n_max;
        LimitedConnection *connections[]; /* owned; NULL: free place */
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

/* Charges a connection to its user. False: the share of the user is used up. */
static bool charge_caller(Shares *shares, const Caller *caller, Charge *ret) {
        ShareAccount *account = shares_open_account(shares, &caller->owner);
        bool is_charged = account && shares_charge(account, RESOURCE_HTTP_CONNECTIONS, 1, ret) == 0;

        shares_close_account(account); /* the charge has a reference */
        return is_charged;
}

/* False: no place is free. */
static bool take_place(ConnectionLimits *limits, LimitedConnection *connection) {
        LOCKED(&limits->mutex);

        for (size_t i = 0; i < limits->n_max; i++)
                if (!limits->connections[i]) {
                        connection->place = i;
                        limits->connections[i] = connection;
                        limits->n++;
                        return true;
                }
        return false;
}

LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint32_t admin_gid, uint64_t now_ns,
                                         RefusedConnection *ret) {
        scoped(freep) LimitedConnection *added = NULL;
        Charge charge = {};
        Caller caller;

        caller_identify(fd, admin_gid, &caller);
        *ret = (RefusedConnection){ .fd = fd, .owner = caller.owner };
        if (!charge_caller(limits->shares, &caller, &charge))
                return NULL;

        added = malloc(sizeof(*added));
        if (added) {
                *added = (LimitedConnection){ .fd = fd, .caller = caller, .charge = charge, .since_ns = now_ns };
                ret->is_full = !take_place(limits, added);
        }
        if (!added || ret->is_full) {
                shares_release(&charge);
                return NULL;
        }
        return TAKE(added);
}

/* Reads all input: otherwise the kernel would discard the sent answer when the socket is closed. */
static void drain(int fd) {
        char bytes[4096];

        while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) == (ssize_t)sizeof(bytes))
                ;
}

static void explain(ConnectionLimits *limits, const RefusedConnection *refused, char ret[static SHARES_REASON_MAX]) {
        ShareAccount *account = refused->is_full ? NULL : shares_open_account(limits->shares, &refused->owner);

        (void)snprintf(ret, SHARES_REASON_MAX, "%s: try again later",
                       refused->is_full ? "the limit of all connections is reached ([limits] http_connections)" :
                                          "perfd has no memory for this connection");
        if (account)
                shares_explain(account, RESOURCE_HTTP_CONNECTIONS, ret);
        shares_close_account(account);
}

void connection_limits_refuse(ConnectionLimits *limits, const RefusedConnection *refused) {
        char reason[SHARES_REASON_MAX], text[SHARES_REASON_MAX + 256];
        int n;

        explain(limits, refused, reason);
        n = snprintf(text, sizeof(text),
                     "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
                     "%zu\r\n"
                     "Retry-After: 1\r\nConnection: close\r\n\r\n%s\n",
                     strlen(reason) + 1, reason);

        assert(n > 0 && (size_t)n < sizeof(text));
        (void)send(refused->fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
        drain(refused->fd);
        close(refused->fd);
}

size_t connection_limits_max(const ConnectionLimits *limits) {
        return limits->n_max;
}

ShareAccount *connection_limits_account(const LimitedConnection *connection) {
        return connection->charge.account;
}

int connection_limits_charge_answer(LimitedConnection *connection, size_t n_bytes) {
        shares_release(&connection->answer);
        if (n_bytes <= CONNECTION_LIMITS_ANSWER_FREE)
                return 0;
        if (shares_charge(connection->charge.account, RESOURCE_ANSWERS, n_bytes, &connection->answer) != 0)
                return CONNECTION_LIMITS_REFUSED;
        return 0;
}

void connection_limits_release_answer(LimitedConnection *connection) {
        if (connection)
                shares_release(&connection->answer);
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
        assert(connection->place < limits->n_max && limits->connections[connection->place] == connection);
        connection->since_ns = now_ns;
}

void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection) {
        if (!connection)
                return;

        pthread_mutex_lock(&limits->mutex);
        assert(limits->n > 0 && limits->connections[connection->place] == connection);
        limits->connections[connection->place] = NULL;
        limits->n--;
        pthread_mutex_unlock(&limits->mutex);
        shares_release(&connection->answer);
        shares_release(&connection->charge);
        free(connection);
}

void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns) {
        if (pthread_mutex_trylock(&limits->mutex) != 0)
                return;

        /* Most ticks have no connection and leave the table out of the caches. */
        for (size_t i = 0; limits->n > 0 && i < limits->n_max; i++)
                if (limits->connections[i] && limits->connections[i]->since_ns < since_ns)
                        (void)shutdown(limits->connections[i]->fd, SHUT_RDWR);
        pthread_mutex_unlock(&limits->mutex);
}

size_t connection_limits_count(ConnectionLimits *limits) {
        LOCKED(&limits->mutex);

        return limits->n;
}
