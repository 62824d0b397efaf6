/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HttpPort: the TCP port of [http] listen
 *
 * perfd runs without its port while another program has it, and tries again at each tick.
 */

#include "http/http.h"
#include "snapshot/stats.h"

/* Serves `listen`, ADDRESS:PORT or "off", unless that is done already. *port: zero at first. Logs what changes. */
void http_port_keep(HttpPortStats *port, const char *listen, Http *http);
