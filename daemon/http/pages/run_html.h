/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of an indicator as a row of a table: time, component, results or the reason of the failure, job and batch. */

#include "http/indicators/vocabulary.h"
#include "http/privacy.h"
#include "store/indicators/result_reader.h"
#include "store/read/reader.h"
#include "util/buffer.h"

/* Writes component and version, time, results with the units of the vocabulary, job and batch, as far as the viewer
 * may see them. */
void run_html(Buffer *out, const ResultRow *row, const Vocabulary *vocabulary, const Viewer *viewer);
