/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* OpenMetrics: names and texts in the text format of OpenMetrics 1.0 and Prometheus */

#include "util/buffer.h"

/* Writes a name: letters, digits and _; another character becomes _, and _ comes before a leading digit. */
void openmetrics_put_name(Buffer *out, const char *text);
/* Writes the name in lower case with _ between words, as Prometheus recommends, and _: "pi_matmul_" of PiMatmul. */
void openmetrics_put_prefix(Buffer *out, const char *name);
/* Writes a text for the inside of quotes: newlines, quotes and backslashes are escaped, and unsafe characters as by
 * utf8_make_plain(). */
void openmetrics_put_escaped(Buffer *out, const char *text);
