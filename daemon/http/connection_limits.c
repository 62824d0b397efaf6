/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection_limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#define UID_UNKNOWN ((uid_t)-1)

struct LimitedConnection {
        int fd; /* owned by the library; -1: free entry */
        uid_t uid; /* UID_UNKNOWN over TCP */
        uint64_t since_ns;
};

struct ConnectionLimits {
        pthread_mutex_t mutex;
        size_t n, n_max, n_per_uid_max;
        LimitedConnection connections[];
};

int connection_limits_new(ConnectionLimits **ret, size_t n_max, size_t n_per_uid_max) {
        ConnectionLimits *limits;

        limits = calloc(1, sizeof(*limits) + n_max * sizeof(limits->connections[0]));
        if (!limits)
                return -ENOMEM;

        (void)pthread_mutex_init(&limits->mutex, NULL);
        limits->n_max = n_max;
        limits->n_per_uid_max = n_per_uid_max;
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

static uid_t peer_uid(int fd) {
        struct ucred peer = { .uid = UID_UNKNOWN };
        socklen_t n = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return UID_UNKNOWN;

        return peer.uid;
}

/* Returns a free entry, or NULL if a limit is reached. */
static LimitedConnection *find_place(ConnectionLimits *limits, uid_t uid) {
        LimitedConnection *place = NULL;
        size_t n_of_uid = 0;

        for (size_t i = 0; i < limits->n_max; i++) {
                LimitedConnection *connection = &limits->connections[i];

                if (connection->fd < 0)
                        place = connection;
                else if (uid != UID_UNKNOWN && connection->uid == uid)
                        n_of_uid++;
        }

        return n_of_uid < limits->n_per_uid_max ? place : NULL;
}

LimitedConnection *connection_limits_add(ConnectionLimits *limits, int fd, uint64_t now_ns) {
        uid_t uid = peer_uid(fd);
        LimitedConnection *connection;

        pthread_mutex_lock(&limits->mutex);
        connection = find_place(limits, uid);
        if (connection) {
                *connection = (LimitedConnection){ .fd = fd, .uid = uid, .since_ns = now_ns };
                limits->n++;
        } else
                (void)shutdown(fd, SHUT_RDWR);
        pthread_mutex_unlock(&limits->mutex);

        return connection;
}

void connection_limits_renew(ConnectionLimits *limits, LimitedConnection *connection, uint64_t now_ns) {
        if (!connection)
                return;

        pthread_mutex_lock(&limits->mutex);
        assert(connection >= limits->connections && connection < limits->connections + limits->n_max);
        connection->since_ns = now_ns;
        pthread_mutex_unlock(&limits->mutex);
}

void connection_limits_remove(ConnectionLimits *limits, LimitedConnection *connection) {
        if (!connection)
                return;

        pthread_mutex_lock(&limits->mutex);
        assert(limits->n > 0 && connection->fd >= 0);
        connection->fd = -1;
        limits->n--;
        pthread_mutex_unlock(&limits->mutex);
}

void connection_limits_close_slow(ConnectionLimits *limits, uint64_t since_ns) {
        if (pthread_mutex_trylock(&limits->mutex) != 0)
                return;

        for (size_t i = 0; i < limits->n_max; i++)
                if (limits->connections[i].fd >= 0 && limits->connections[i].since_ns < since_ns)
                        (void)shutdown(limits->connections[i].fd, SHUT_RDWR);
        pthread_mutex_unlock(&limits->mutex);
}

size_t connection_limits_count(ConnectionLimits *limits) {
        size_t n;

        pthread_mutex_lock(&limits->mutex);
        n = limits->n;
        pthread_mutex_unlock(&limits->mutex);
        return n;
}
