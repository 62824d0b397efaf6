/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hosts: names under which TCP clients may address perfd
 *
 * A web page can direct its own name to this machine and then read answers as if they were its own (DNS rebinding).
 * The browser still sends the page's name as Host. Allowed are IP addresses, localhost, the names of this node, and
 * the names of [http] hosts. No name is looked up.
 */

#include <stdbool.h>

#include "util/buffer.h"

typedef struct Hosts {
        Buffer names; /* owned; each follows a blank */
} Hosts;

/* configured: names separated by blanks. hostname: of this node; its other names end in the search domains of the file
 * `resolver` (resolv.conf(5)), which may be absent. 0 or -ENOMEM. */
int hosts_init(Hosts *ret, const char *configured, const char *hostname, const char *resolver);
void hosts_deinit(Hosts *hosts);

/* host: value of the header, with or without a port; "": no header. */
bool hosts_allow(const Hosts *hosts, const char *host);
