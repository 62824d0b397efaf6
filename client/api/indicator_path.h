/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicator path: URL paths of queries about indicators, with all user input percent-encoded */

#include "client/cli/common_options.h"
#include "util/buffer.h"

/* "/api/v1/indicators/NAME/WHAT" */
void indicator_path_begin(Buffer *path, const char *name, const char *what);
/* "/api/v1/batches/ID" */
void indicator_path_batch(Buffer *path, const char *id);
/* A query parameter; nothing for NULL. */
void indicator_path_put(Buffer *path, const char *name, const char *value);
/* Appends a time before now in ms, as "since_ms". */
void indicator_path_put_age(Buffer *path, const char *name, uint64_t age_ns);
/* --where, --since and --until. */
void indicator_path_select(Buffer *path, const SelectionOptions *selection);
