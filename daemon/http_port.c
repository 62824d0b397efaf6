/* SPDX-License-Identifier: Apache-2.0 */
#include "http_port.h"

#include <string.h>

#include "base/log.h"
#include "sockets.h"

_Static_assert(sizeof((HttpPortStats){}.address) == SOCKETS_ADDRESS_MAX, "an address fits");
_Static_assert(sizeof((HttpPortStats){}.error) == SOCKETS_ERROR_MAX, "an error fits");

/* 0, or a negative errno with port->error. */
static int open_port(HttpPortStats *port, Http *http) {
        int fd, r;

        fd = sockets_listen_tcp(port->listen, port->address, port->error);
        if (fd < 0)
                return fd;

        r = http_listen(http, fd);
        if (r < 0)
                (void)snprintf(port->error, sizeof(port->error), "Cannot serve %s: %s", port->listen, strerror(-r));
        return r;
}

void http_port_keep(HttpPortStats *port, const char *listen, Http *http) {
        bool is_new = strcmp(port->listen, listen) != 0, had_failed = port->error[0];
        HttpPortStats next = {};

        if (!is_new && !had_failed)
                return;
        if (is_new && port->address[0])
                (void)http_listen(http, -1); /* the former port may be the new one, with another address */

        (void)snprintf(next.listen, sizeof(next.listen), "%s", listen);
        if (strcmp(listen, "off") != 0 && open_port(&next, http) < 0)
                next.address[0] = '\0';
        if (next.error[0] && (is_new || strcmp(next.error, port->error) != 0))
                log_err("%s. Trying again at each sample; jobs, sampling and perfctl do not need the port.",
                        next.error);
        else if (next.address[0] && port->listen[0])
                log_info("Serving http://%s.", next.address);
        *port = next;
}
