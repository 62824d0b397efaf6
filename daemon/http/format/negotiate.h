/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Content negotiation
 *
 * Evaluates Accept and Accept-Encoding (RFC 9110 §12.5) to choose the format of metrics and whether to use gzip.
 */

#include <stdbool.h>

/* True if OpenMetrics is named in a supported version, with a quality of at least that of plain text. Wildcards do
 * not count.
 * NULL: no header. */
bool negotiate_openmetrics(const char *accept);
/* True if HTML is named: the client is a browser. */
bool negotiate_html(const char *accept);
/* True if gzip or any encoding is accepted. */
bool negotiate_gzip(const char *accept_encoding);
