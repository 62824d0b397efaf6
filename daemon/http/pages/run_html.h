/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of an indicator as a row of a table: when, what, what it measured or why it failed, and of which job and batch. */

#include "http/indicators/vocabulary.h"
#include "http/privacy.h"
#include "store/indicators/result_reader.h"
#include "store/reader.h"
#include "util/buffer.h"

/* Component and version, time, results with the units that the vocabulary has, job, batch; as the viewer may see them. */
void run_html(Buffer *out, const ResultRow *row, const Vocabulary *vocabulary, const Viewer *viewer);
