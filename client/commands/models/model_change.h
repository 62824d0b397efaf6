/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Model change: options and messages of the commands that add and remove models
 */

#include "client/cli/options.h"
#include "client/cli/screen.h"
#include "client/deliver/deliver.h"

typedef struct ModelChangeOptions {
        uint64_t timeout_ns;
} ModelChangeOptions;

extern const Option model_change_options[];

/* Reports a failed delivery. change: as "added". outcome: of the delivery. Returns the exit status. */
int model_change_refuse(const Courier *courier, const Delivery *delivery, const char *name, const char *change, int outcome);
/* Writes "MemBw of plain C: added". component: NULL for any. */
void model_change_put(Screen *screen, const char *name, const char *component, const char *change);
