/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdict text: a verdict about a data pipeline for a screen
 *
 * Verdicts are objects as of pipeline_verdict.h, from perfd or made of a file. Names of stages are not escaped.
 */

#include <stdbool.h>
#include <stddef.h>

#include "client/cli/screen.h"
#include "value/value.h"

/*
 * Writes what limits the pipeline and what to do about it, a table of its stages, and the changes within the run.
 * indent: of the lines. is_table: writes the table only. 0 or -ENOMEM.
 */
int verdict_text_write(const Value *verdict, bool is_table, size_t indent, Screen *screen);
