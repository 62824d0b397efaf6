/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job change: the outcome of beginning or ending a job by hand
 */

#include <stdbool.h>

#include "client/deliver/deliver.h"

/* Prints the outcome of a delivery. r: of the delivery. done: "begun" or "ended". Returns the exit status. */
int job_change_print(const char *id, bool is_json, const Courier *courier, const Delivery *delivery, int r, const char *done);
