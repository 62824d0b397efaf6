/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Drawing: a data pipeline on a terminal, with the shares of its workers and its queues */

#include "client/cli/screen.h"
#include "client/pipeline/verdict.h"

/* Writes two lines for each stage, and a line that explains the bars. */
void drawing_write(const VerdictPipeline *pipeline, Screen *screen);
