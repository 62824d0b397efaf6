/* SPDX-License-Identifier: Apache-2.0 */
#include "util/peer_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "util/scoped.h"

#define GROUPS_FEW 64U

static bool contains(const gid_t *groups, size_t n_bytes, uint32_t gid) {
        for (size_t i = 0; i < n_bytes / sizeof(*groups); i++)
                if (groups[i] == gid)
                        return true;
        return false;
}

bool peer_groups_have(int fd, uint32_t gid) {
        scoped(freep) gid_t *many = NULL;
        struct ucred peer = {};
        gid_t few[GROUPS_FEW];
        socklen_t n = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return false;
        if (peer.gid == gid)
                return true;

        n = sizeof(few);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &n) == 0)
                return contains(few, n, gid);
        if (errno != ERANGE)
                return false;

        /*
         * n is now the required size: at most NGROUPS_MAX groups, 256 KiB. The groups of a connection do not change.
         */
        many = malloc(n);
        return many && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, many, &n) == 0 && contains(many, n, gid);
}
