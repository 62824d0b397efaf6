/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdict text: a verdict about a data pipeline for a screen
 *
 * Verdicts are objects as of pipeline_verdict.h, from perfd or made of a file. Names of stages are not escaped.
 */

#include "client/cli/grid.h"
#include "util/buffer.h"
#include "value/value.h"

/* Writes what limits the pipeline, and what to do about it, in a line without its end. */
void verdict_text_write(const Value *verdict, Buffer *out);
/* Writes the changes within the run, each a line. */
void verdict_text_write_changes(const Value *verdict, Buffer *out);
/* Adds a row for each stage to a grid with the columns VERDICT_HEADS. */
#define VERDICT_HEADS "STAGE|>WORKERS|>BUSY|>STARVED|>BLOCKED|>TIME|>ITEMS/S|>READY|>FAILED"
void verdict_text_fill_grid(const Value *verdict, Grid *grid);
