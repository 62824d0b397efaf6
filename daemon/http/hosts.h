/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hosts: the names by which clients over TCP may ask for perfd
 *
 * A web page can direct its own name at this machine and then read answers as if they were its own (DNS rebinding). The browser still
 * sends the page's name as Host. Allowed are IP addresses, which are not names, localhost, the names of this node, and the names of
 * [http] hosts. Nothing is looked up.
 */

#include <stdbool.h>

#include "util/buffer.h"

typedef struct Hosts {
        Buffer names; /* owned; each follows a blank */
} Hosts;

/*
 * configured: names separated by blanks. hostname: of this node, whose other names end in the search domains of the file `resolver`
 * (resolv.conf(5)), which may be absent. 0 or -ENOMEM.
 */
int hosts_init(Hosts *ret, const char *configured, const char *hostname, const char *resolver);
void hosts_deinit(Hosts *hosts);

/* host: as in the header, with or without a port; "": none was sent. */
bool hosts_allow(const Hosts *hosts, const char *host);
