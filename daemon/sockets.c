/* SPDX-License-Identifier: Apache-2.0 */
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "util/file.h"
#include "util/scoped.h"

#define BACKLOG 1024

static int fail(char *ret_error, const char *what, const char *where, const char *advice) {
        (void)snprintf(ret_error, SOCKETS_ERROR_MAX, "Cannot %s %s: %s%s%s", what, where, strerror(errno),
                       advice[0] ? "; " : "", advice);
        return SOCKETS_FAILED;
}

/* Returns true if a process listens on the socket. A socket file without a process refuses connections. */
static bool is_listening(const struct sockaddr_un *address) {
        scoped(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN);
}

/* Removes a stale socket of an earlier perfd; any other file of that name is left unchanged. */
static int remove_stale(const char *path) {
        struct stat st;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISSOCK(st.st_mode))
                return -EEXIST;

        return unlink(path) < 0 ? -errno : 0;
}

/* Sets the mode between bind(2) and listen(2), before any client can connect. */
static int listen_unix(const char *path, mode_t mode, int *ret_fd, char *ret_error) {
        static const char *const advice = "run as root, or choose another path with --socket";
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped(closep) int fd = -1;
        int r;

        r = file_make_parents(path, 0755);
        if (r < 0) {
                errno = -r;
                return fail(ret_error, "create the directory of", path, advice);
        }

        memcpy(address.sun_path, path, strlen(path) + 1); /* at most 107 bytes: checked by config.c */
        if (is_listening(&address)) {
                errno = EADDRINUSE;
                return fail(ret_error, "listen on", path, "another process listens on it");
        }

        r = remove_stale(path);
        if (r < 0) {
                errno = -r;
                return fail(ret_error, "listen on", path,
                            r == -EEXIST ? "the file is not a socket: choose another with --socket" : advice);
        }

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, mode) < 0 ||
            listen(fd, BACKLOG) < 0)
                return fail(ret_error, "listen on", path, advice);

        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* text: ADDRESS:PORT or [IPV6]:PORT, validated when the configuration was read. */
static socklen_t parse_address(const char *text, struct sockaddr_storage *ret) {
        const char *colon = strrchr(text, ':');
        uint16_t port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
        char address[SOCKETS_ADDRESS_MAX];
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
        struct sockaddr_in *in = (struct sockaddr_in *)ret;
        bool is_ipv6 = text[0] == '[';

        *ret = (struct sockaddr_storage){};
        (void)snprintf(address, sizeof(address), "%.*s", (int)(colon - text) - (is_ipv6 ? 2 : 0),
                       text + (is_ipv6 ? 1 : 0));
        if (is_ipv6) {
                in6->sin6_family = AF_INET6;
                in6->sin6_port = port;
                (void)inet_pton(AF_INET6, address, &in6->sin6_addr);
                return sizeof(*in6);
        }

        in->sin_family = AF_INET;
        in->sin_port = port;
        (void)inet_pton(AF_INET, address, &in->sin_addr);
        return sizeof(*in);
}

/* Bound address of a socket: with port 0, only the kernel knows it. */
static void describe_address(int fd, char ret[static SOCKETS_ADDRESS_MAX]) {
        struct sockaddr_storage bound = {};
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&bound;
        const struct sockaddr_in *in = (const struct sockaddr_in *)&bound;
        socklen_t n = sizeof(bound);
        char address[INET6_ADDRSTRLEN] = "?";

        ret[0] = '\0';
        if (getsockname(fd, (struct sockaddr *)&bound, &n) < 0)
                return;

        if (bound.ss_family == AF_INET6) {
                (void)inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
                (void)snprintf(ret, SOCKETS_ADDRESS_MAX, "[%s]:%u", address, ntohs(in6->sin6_port));
                return;
        }

        (void)inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
        (void)snprintf(ret, SOCKETS_ADDRESS_MAX, "%s:%u", address, ntohs(in->sin_port));
}

static const char *advise(int error) {
        switch (error) {
        case EADDRINUSE:
                return "end the other program, which ss -tlnp shows, or choose another port";
        case EADDRNOTAVAIL:
                return "no network interface has this address";
        case EACCES:
                return "ports below 1024 need CAP_NET_BIND_SERVICE";
        default:
                return "choose another address";
        }
}

int sockets_listen_tcp(const char *text, char ret_address[static SOCKETS_ADDRESS_MAX],
                       char ret_error[static SOCKETS_ERROR_MAX]) {
        struct sockaddr_storage address;
        socklen_t n = parse_address(text, &address);
        scoped(closep) int fd = -1;
        const int on = 1;
        int r;

        fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, n) < 0 || listen(fd, BACKLOG) < 0) {
                r = -errno;
                (void)fail(ret_error, "listen on", text, advise(-r));
                return r;
        }

        describe_address(fd, ret_address);
        return TAKE_FD(fd);
}

/* Reads the path of a passed socket, and its mode unless ret_mode is NULL. */
static void describe_passed(int fd, char ret_path[static SOCKETS_PATH_MAX], uint32_t *ret_mode) {
        struct sockaddr_un address = {};
        socklen_t n = sizeof(address);
        struct stat st;

        if (getsockname(fd, (struct sockaddr *)&address, &n) < 0)
                return;

        (void)snprintf(ret_path, SOCKETS_PATH_MAX, "%.107s", address.sun_path);
        if (ret_mode && stat(ret_path, &st) == 0)
                *ret_mode = st.st_mode & 07777;
}

/* Assigns the sockets that the service manager passed, in the order of its unit. The socket units of earlier
 * versions passed others. */
static int adopt_passed(Sockets *sockets) {
        char **names = NULL;
        int n = sd_listen_fds_with_names(1, &names);

        for (int i = 0; i < n; i++) {
                int fd = SD_LISTEN_FDS_START + i;
                bool is_usable = strcmp(names[i], "perfd") == 0 && sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) > 0;

                if (is_usable && sockets->submit_fd < 0) {
                        sockets->submit_fd = fd;
                        describe_passed(fd, sockets->bound.path, &sockets->bound.mode);
                } else if (is_usable && sockets->http_unix_fd < 0) {
                        sockets->http_unix_fd = fd;
                        describe_passed(fd, sockets->bound.http_path, NULL);
                } else {
                        log_warning("Ignoring the passed socket named %s: expected two Unix sockets named perfd; "
                                    "disable the unit that passes it, and set listen= in [http] of perfd.conf for "
                                    "TCP.",
                                    names[i]);
                        (void)close(fd);
                }
                free(names[i]);
        }
        free(names);
        return n < 0 ? n : 0;
}

static void http_path(const SocketsConfig *config, char ret[static SOCKETS_PATH_MAX]) {
        const char *slash = strrchr(config->path, '/');

        if (config->http_path[0])
                (void)snprintf(ret, SOCKETS_PATH_MAX, "%s", config->http_path);
        else
                (void)snprintf(ret, SOCKETS_PATH_MAX, "%.*s/http.sock", (int)(slash - config->path), config->path);
}

static int open_missing(Sockets *sockets, const SocketsConfig *config, char *ret_error) {
        char path[SOCKETS_PATH_MAX];
        int r;

        if (sockets->submit_fd < 0) {
                r = listen_unix(config->path, (mode_t)config->mode, &sockets->submit_fd, ret_error);
                if (r != 0)
                        return r;
                memcpy(sockets->submit_path, config->path, sizeof(sockets->submit_path));
                memcpy(sockets->bound.path, config->path, sizeof(sockets->bound.path));
                sockets->bound.mode = config->mode;
        }

        if (sockets->http_unix_fd < 0) {
                http_path(config, path);
                r = listen_unix(path, 0666, &sockets->http_unix_fd, ret_error);
                if (r != 0)
                        return r;
                memcpy(sockets->http_path, path, sizeof(sockets->http_path));
                memcpy(sockets->bound.http_path, path, sizeof(sockets->bound.http_path));
        }
        return 0;
}

int sockets_open(Sockets *ret, const SocketsConfig *config, char ret_error[static SOCKETS_ERROR_MAX]) {
        *ret = (Sockets){ .submit_fd = -1, .http_unix_fd = -1 };
        ret_error[0] = '\0';

        return adopt_passed(ret) ?: open_missing(ret, config, ret_error);
}

void sockets_close(Sockets *sockets) {
        if (sockets->submit_path[0])
                (void)unlink(sockets->submit_path);
        if (sockets->http_path[0])
                (void)unlink(sockets->http_path);
        closep(&sockets->submit_fd);
        closep(&sockets->http_unix_fd);
        *sockets = (Sockets){ .submit_fd = -1, .http_unix_fd = -1 };
}
