/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Composition: a response of several texts, which are not copied into one
 *
 * The texts of a scrape are shared by all answers about a snapshot, and live as long as the last of these answers.
 */

#include <stdbool.h>

#include <microhttpd.h>

#include "http/scrape.h"
#include "util/buffer.h"

/* Takes the texts, and the text of `rest`, which follows them. is_packed: they are parts of a gzip stream, whose head
 * comes first. NULL: out of memory. */
struct MHD_Response *composition_respond(Scrape *scrape, bool is_packed, Buffer *rest);
