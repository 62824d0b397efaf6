/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job change: the outcome of a job's begin or end that was requested by hand */

#include "client/deliver/deliver.h"

/* Prints the outcome of a delivery. r: of the delivery. done: "begun" or "ended". Returns the exit status. */
int job_change_print(const char *id, bool json, const Courier *courier, const Delivery *delivery, int r, const char *done);
