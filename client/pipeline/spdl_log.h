/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL log: statistics of pipelines in the lines that SPDL logs
 *
 * SPDL logs a line for the tasks and for the queue of each stage: after each interval, if there are intervals, and the totals of the run
 * at its end. Whatever precedes the stage in brackets, such as a time, is ignored, and so are other lines.
 */

#include "client/pipeline/spdl_export.h"

/*
 * Reads a text. name: of the text, for messages. The last line of a stage counts alone if it has the totals of the run. Otherwise the
 * intervals are added up. Returns 0, SPDL_EXPORT_INVALID or -ENOMEM. Call spdl_export_deinit() in all cases.
 */
int spdl_log_read(SpdlExport *export, const char *name, const Buffer *text, const SpdlSettings *settings);
