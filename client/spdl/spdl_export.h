/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SPDL export: statistics of pipelines in the JSON files that SPDL's examples write
 *
 * The file has one object, whose members are lists with a value for each interval: "0:1:decode_num_tasks", "0:1:decode_queue_qps" and so
 * on. All dialects that SPDL's documentation has published are read, with numbers or with texts of numbers.
 */

#include "client/spdl/spdl_table.h"

/* Reads a text into an empty table. Returns 0, SPDL_TABLE_INVALID or -ENOMEM. */
int spdl_export_read(SpdlTable *table, const Buffer *text, char ret_error[static SPDL_TABLE_ERROR_MAX]);
