/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Report page: a page of tools/bundle with its data */

#include "util/buffer.h"

/* Writes the page with the data, JSON, in its place. */
void report_page_put(const char *page, const Buffer *data, Buffer *out);
