/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Model change: the outcome of registering or removing an indicator model */

#include "client/cli/screen.h"
#include "client/deliver/deliver.h"

/* Reports a failed delivery on standard error. change: as "registered". outcome: of the delivery. Returns the exit status. */
int model_change_refused(const Courier *courier, const Delivery *delivery, const char *name, const char *change, int outcome);
/* Writes "MemBw of plain C: registered". component: NULL for any. */
void model_change_put(Screen *screen, const char *name, const char *component, const char *change);
