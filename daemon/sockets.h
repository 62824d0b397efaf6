/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sockets: listening sockets of perfd
 *
 * Takes the two Unix sockets that the service manager passes with the name "perfd", first that for submissions, then
 * that for HTTP, or makes them. A Unix socket left behind by an earlier perfd is replaced; a socket that another
 * process listens on is not. The TCP port is opened apart (http_port.h), because perfd runs without it.
 */

#include <stdint.h>

#define SOCKETS_PATH_MAX 108    /* sun_path of sockaddr_un(7) */
#define SOCKETS_ADDRESS_MAX 256

typedef struct SocketsConfig {
        char path[SOCKETS_PATH_MAX];
        uint32_t mode;
        char http_path[SOCKETS_PATH_MAX];      /* "": http.sock in the directory of `path` */
        char http_listen[SOCKETS_ADDRESS_MAX]; /* ADDRESS:PORT or "off" */
} SocketsConfig;

typedef struct Sockets {
        int submit_fd;    /* Unix stream */
        int http_unix_fd; /* Unix stream */
        /* created here and removed at shutdown; "" if the socket was passed */
        char submit_path[SOCKETS_PATH_MAX], http_path[SOCKETS_PATH_MAX];
        SocketsConfig bound; /* paths and mode that the sockets have, whoever made them */
} Sockets;

#define SOCKETS_ERROR_MAX 400

/* 0, SOCKETS_FAILED with a message in ret_error and the error in errno, or a negative errno. */
enum {
        SOCKETS_FAILED = 1,
};
int sockets_open(Sockets *ret, const SocketsConfig *config, char ret_error[static SOCKETS_ERROR_MAX]);
/*
 * Listens on ADDRESS:PORT, as checked when the configuration was read. Fills ret_address, "127.0.0.1:9847" as bound.
 * Returns the descriptor, or a negative errno with the reason and its fix in ret_error.
 */
int sockets_listen_tcp(const char *text, char ret_address[static SOCKETS_ADDRESS_MAX],
                       char ret_error[static SOCKETS_ERROR_MAX]);
/* Closes the sockets whose ownership was not transferred, and removes the files created by sockets_open(). */
void sockets_close(Sockets *sockets);
