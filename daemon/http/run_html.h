#pragma once

/* One run of an indicator as a row of a table: when, what, what it measured or why it failed, and of which job and batch. */

#include "store/reader.h"
#include "util/buffer.h"

/* Component and version, time, results, job, batch. model: gather_model(), for the units. */
void run_html(Buffer *out, const ResultRow *row, const Buffer *model);
