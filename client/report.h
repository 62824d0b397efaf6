#pragma once

/*
 * The report of a job: one screen
 */

#include "client/screen.h"
#include "model/value.h"

/* job: the answer to /api/v1/jobs/ID. node: to /api/v1/node, or NULL. */
void report_write(Screen *screen, const Value *job, const Value *node);

/* The pieces that `job show` has as well. */
void report_write_head(Screen *screen, const Value *job, const Value *node);
