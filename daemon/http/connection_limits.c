/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connection_limits.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#define UID_UNKNOWN ((uid_t)-1)

struct LimitedConnection {
        int fd; /* the library's; -1: free place */
        uid_t uid; /* UID_UNKNOWN over TCP */
        uint64_t since_ns;
};

struct ConnectionLimits {
        pthread_mutex_t mutex;
        size_t n, n_max, n_per_uid_max;
        LimitedConnection guests[];
};

int connection_limits_new(ConnectionLimits **ret, size_t n_max, size_t n_per_uid_max) {
        ConnectionLimits *guests;

        guests = calloc(1, sizeof(*guests) + n_max * sizeof(guests->guests[0]));
        if (!guests)
                return -ENOMEM;

        (void)pthread_mutex_init(&guests->mutex, NULL);
        guests->n_max = n_max;
        guests->n_per_uid_max = n_per_uid_max;
        for (size_t i = 0; i < n_max; i++)
                guests->guests[i].fd = -1;

        *ret = guests;
        return 0;
}

ConnectionLimits *connection_limits_free(ConnectionLimits *guests) {
        if (!guests)
                return NULL;

        (void)pthread_mutex_destroy(&guests->mutex);
        free(guests);
        return NULL;
}

static uid_t peer_uid(int fd) {
        struct ucred peer = { .uid = UID_UNKNOWN };
        socklen_t n = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return UID_UNKNOWN;

        return peer.uid;
}

/* A free place for one more connection of that user, or NULL. */
static LimitedConnection *find_place(ConnectionLimits *guests, uid_t uid) {
        LimitedConnection *place = NULL;
        size_t n_of_uid = 0;

        for (size_t i = 0; i < guests->n_max; i++) {
                LimitedConnection *guest = &guests->guests[i];

                if (guest->fd < 0)
                        place = guest;
                else if (uid != UID_UNKNOWN && guest->uid == uid)
                        n_of_uid++;
        }

        return n_of_uid < guests->n_per_uid_max ? place : NULL;
}

LimitedConnection *connection_limits_add(ConnectionLimits *guests, int fd, uint64_t now_ns) {
        uid_t uid = peer_uid(fd);
        LimitedConnection *guest;

        pthread_mutex_lock(&guests->mutex);
        guest = find_place(guests, uid);
        if (guest) {
                *guest = (LimitedConnection){ .fd = fd, .uid = uid, .since_ns = now_ns };
                guests->n++;
        } else
                (void)shutdown(fd, SHUT_RDWR);
        pthread_mutex_unlock(&guests->mutex);

        return guest;
}

void connection_limits_renew(ConnectionLimits *guests, LimitedConnection *guest, uint64_t now_ns) {
        if (!guest)
                return;

        pthread_mutex_lock(&guests->mutex);
        guest->since_ns = now_ns;
        pthread_mutex_unlock(&guests->mutex);
}

void connection_limits_remove(ConnectionLimits *guests, LimitedConnection *guest) {
        if (!guest)
                return;

        pthread_mutex_lock(&guests->mutex);
        guest->fd = -1;
        guests->n--;
        pthread_mutex_unlock(&guests->mutex);
}

void connection_limits_cut(ConnectionLimits *guests, uint64_t since_ns) {
        if (pthread_mutex_trylock(&guests->mutex) != 0)
                return;

        for (size_t i = 0; i < guests->n_max; i++)
                if (guests->guests[i].fd >= 0 && guests->guests[i].since_ns < since_ns)
                        (void)shutdown(guests->guests[i].fd, SHUT_RDWR);
        pthread_mutex_unlock(&guests->mutex);
}

size_t connection_limits_count(ConnectionLimits *guests) {
        size_t n;

        pthread_mutex_lock(&guests->mutex);
        n = guests->n;
        pthread_mutex_unlock(&guests->mutex);
        return n;
}
