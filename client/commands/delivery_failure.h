/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Delivery failure: message and exit status of a command whose delivery failed
 *
 * outcome: as returned with the delivery, not 0.
 */

#include "client/deliver/deliver.h"

/* Prints the reason. Returns the exit status. */
int delivery_failure_print(const Delivery *delivery, const Courier *courier, int outcome);
/* Returns the exit status without a message: EXIT_UNREACHABLE or EXIT_FAILED. */
int delivery_failure_status(const Delivery *delivery, int outcome);
