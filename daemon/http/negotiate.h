/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Content negotiation
 *
 * What a peer's Accept and Accept-Encoding ask for (RFC 9110 §12.5), as far as it concerns us: two
 * forms of metrics, and gzip or not.
 */

#include <stdbool.h>

/*
 * True when OpenMetrics is named, in a version we write, and is liked no less than plain text.
 * Wildcards do not count as asking for it. NULL: no header.
 */
bool negotiate_openmetrics(const char *accept);
/* True when gzip, or anything, is welcome. */
bool negotiate_gzip(const char *accept_encoding);
