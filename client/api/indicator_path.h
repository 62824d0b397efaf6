/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicator path: URL paths of queries about indicators, with all user input percent-encoded */

#include "client/cli/common_options.h"
#include "util/buffer.h"

/* Starts a path: "/api/v1/indicators/NAME/WHAT". */
void indicator_path_begin(Buffer *path, const char *name, const char *what);
/* Writes "/api/v1/batches/ID". */
void indicator_path_batch(Buffer *path, const char *id);
/* Appends a query parameter; does nothing if value is NULL. */
void indicator_path_put(Buffer *path, const char *name, const char *value);
/* Appends the values of a repeatable option as one parameter, with commas between; does nothing without a value. */
void indicator_path_put_list(Buffer *path, const char *name, const OptionTexts *values);
/* Appends the time in ms that was age_ns ago, as the parameter `name`. */
void indicator_path_put_age(Buffer *path, const char *name, uint64_t age_ns);
/* Appends the parameters of --where, --since and --until. */
void indicator_path_select(Buffer *path, const SelectionOptions *selection);
