/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/poller.h"

#include <errno.h>

#include "util/scoped.h"

int poller_init(Poller *poller) {
        poller->fd = epoll_create1(EPOLL_CLOEXEC);
        return poller->fd < 0 ? -errno : 0;
}

void poller_deinit(Poller *poller) {
        closep(&poller->fd);
}

int poller_set(const Poller *poller, int fd, void *item, uint32_t before, uint32_t events) {
        struct epoll_event event = { .events = events, .data.ptr = item };
        int operation = events == 0 ? EPOLL_CTL_DEL : before == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

        if (events == before)
                return 0;
        return epoll_ctl(poller->fd, operation, fd, &event) < 0 ? -errno : 0;
}

int poller_take(const Poller *poller, struct epoll_event *ret, int n_max) {
        int n = epoll_wait(poller->fd, ret, n_max, 0);

        return n < 0 ? -errno : n;
}
