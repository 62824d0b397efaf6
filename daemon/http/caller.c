/* SPDX-License-Identifier: Apache-2.0 */
#include "http/caller.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/peer_groups.h"
#include "util/scoped.h"

/* An address and port of either family, IPv4 mapped into IPv6. */
typedef struct Endpoint {
        uint8_t address[16];
        uint16_t port; /* network order */
} Endpoint;

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool is_mapped(const Endpoint *endpoint) {
        return memcmp(endpoint->address, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

/* False: not an Internet address. */
static bool read_endpoint(const struct sockaddr_storage *from, Endpoint *ret) {
        *ret = (Endpoint){};
        if (from->ss_family == AF_INET) {
                const struct sockaddr_in *in = (const struct sockaddr_in *)from;

                memcpy(ret->address, mapped_prefix, sizeof(mapped_prefix));
                memcpy(ret->address + sizeof(mapped_prefix), &in->sin_addr, sizeof(in->sin_addr));
                ret->port = in->sin_port;
                return true;
        }
        if (from->ss_family == AF_INET6) {
                const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

                memcpy(ret->address, &in6->sin6_addr, sizeof(in6->sin6_addr));
                ret->port = in6->sin6_port;
                return true;
        }
        return false;
}

/* A connection from this machine has the same address on both sides, or loopback addresses. */
static bool is_same_machine(const Endpoint *own, const Endpoint *peer) {
        static const uint8_t loopback[16] = { [15] = 1 };

        if (memcmp(own->address, peer->address, sizeof(own->address)) == 0)
                return true;
        return is_mapped(peer) ? peer->address[12] == 127 : memcmp(peer->address, loopback, sizeof(loopback)) == 0;
}

static void put_address(const Endpoint *endpoint, bool is_ipv4, uint32_t ret[4]) {
        if (is_ipv4)
                memcpy(ret, endpoint->address + sizeof(mapped_prefix), 4);
        else
                memcpy(ret, endpoint->address, sizeof(endpoint->address));
}

/* Asks the kernel for the socket whose local address is `from`. The answer can be read when send(2) returns. */
static bool find_socket(const Endpoint *from, const Endpoint *to, struct inet_diag_msg *ret) {
        bool is_ipv4 = is_mapped(from);
        struct {
                struct nlmsghdr header;
                struct inet_diag_req_v2 request;
        } question = {
                .header = {
                        .nlmsg_len = sizeof(question),
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST,
                },
                .request = {
                        .sdiag_family = is_ipv4 ? AF_INET : AF_INET6,
                        .sdiag_protocol = IPPROTO_TCP,
                        .idiag_states = UINT32_MAX,
                        .id = { .idiag_sport = from->port, .idiag_dport = to->port,
                                .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
                },
        };
        struct {
                struct nlmsghdr header;
                struct inet_diag_msg message;
                char rest[512]; /* attributes, not used */
        } answer;
        scoped(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
        ssize_t n;

        put_address(from, is_ipv4, question.request.id.idiag_src);
        put_address(to, is_ipv4, question.request.id.idiag_dst);
        if (fd < 0 || send(fd, &question, sizeof(question), 0) != (ssize_t)sizeof(question))
                return false;

        n = recv(fd, &answer, sizeof(answer), 0);
        if (n < (ssize_t)(sizeof(answer.header) + sizeof(answer.message)) ||
            answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return false;
        *ret = answer.message;
        return true;
}

static void identify_tcp(int fd, Caller *ret) {
        struct sockaddr_storage own_name = {}, peer_name = {};
        socklen_t n_own = sizeof(own_name), n_peer = sizeof(peer_name);
        struct inet_diag_msg socket;
        Endpoint own, peer;

        if (getsockname(fd, (struct sockaddr *)&own_name, &n_own) < 0 || !read_endpoint(&own_name, &own) ||
            getpeername(fd, (struct sockaddr *)&peer_name, &n_peer) < 0 || !read_endpoint(&peer_name, &peer))
                return;

        if (!is_same_machine(&own, &peer)) {
                ret->owner.type = OWNER_ADDRESS;
                memcpy(ret->owner.address, peer.address, sizeof(peer.address));
                return;
        }
        if (find_socket(&peer, &own, &socket) && socket.idiag_state == TCP_ESTABLISHED && socket.idiag_inode != 0)
                ret->owner = OWNER_OF_UID(socket.idiag_uid);
}

bool caller_is_admin(int fd, uint32_t admin_gid, const Caller *caller) {
        if (!caller->is_local || caller->owner.type != OWNER_USER)
                return false;
        return caller->owner.uid == 0 || (admin_gid != CALLER_NO_ADMIN_GID && peer_groups_have(fd, admin_gid));
}

void caller_identify(int fd, uint32_t admin_gid, Caller *ret) {
        struct ucred peer = {};
        struct sockaddr_storage name = {};
        socklen_t n = sizeof(peer), n_name = sizeof(name);

        *ret = (Caller){ .owner.type = OWNER_UNKNOWN };
        if (getsockname(fd, (struct sockaddr *)&name, &n_name) < 0)
                return;
        if (name.ss_family != AF_UNIX) {
                identify_tcp(fd, ret);
                return;
        }

        ret->is_local = true;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return;
        ret->owner = OWNER_OF_UID(peer.uid);
        ret->owner.is_admin = caller_is_admin(fd, admin_gid, ret);
}

/* --- the name that a proxy passes on ---------------------------------------------------------------- */

#define NAME_MAX_BYTES 256U
#define ENTRY_BYTES_MAX (1024U * 1024U)

bool caller_name_is_valid(const char *name) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
        size_t n = name ? strlen(name) : 0;

        return n > 0 && n <= NAME_MAX_BYTES && name[0] != '-' && strspn(name, letters) == n &&
               strspn(name, "0123456789") < n;
}

int caller_find_name(const char *name, uint32_t *ret) {
        struct passwd entry, *found = NULL;
        int r = ERANGE;

        for (size_t n = 1024; r == ERANGE && n <= ENTRY_BYTES_MAX; n *= 2) {
                scoped(freep) char *bytes = malloc(n);

                r = bytes ? getpwnam_r(name, &entry, bytes, n, &found) : ENOMEM;
        }
        if (r != 0 || !found)
                return CALLER_UNKNOWN;
        *ret = entry.pw_uid;
        return 0;
}
