/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Build information: how a framework was built, as scripts print it beside a result: tensorflow_buildinfo,
 * pytorch_buildinfo. */

#include <stdbool.h>

#include "util/buffer.h"
#include "value/value.h"

bool build_info_is_key(const char *key);
/* Writes a word for the build information of a package in the document, such as buildinfo:0123456789ab, the first
 * digits of its SHA-256; nothing if the document has none. */
void build_info_put(const Value *document, const char *package, Buffer *out);
