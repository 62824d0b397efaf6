/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Registry: the models of indicators, at work
 *
 * Reads them at the start and at each reload, takes those that are registered, tells the store which ones results are
 * indexed by, and judges what is submitted.
 */

#include "state.h"

/* With the store open: registered models from there, the others from files. 0 or < 0. */
int registry_start(Service *service);
/* The configuration was read again, and files may have changed. 0 or < 0. */
int registry_configure(Service *service);
void registry_deinit(Service *service);
/* The store can be written again, and may have its database only now. 0 or < 0. */
int registry_store_is_back(Service *service);
/* At each tick: what the store had no room for. 0 or < 0. */
int registry_tick(Service *service);

/* REQUEST_REGISTER. 0, STORE_QUEUE_FULL or < 0. */
int registry_take(Service *service, const Request *request, Ticket ticket);
/* REQUEST_UNREGISTER. 0, STORE_QUEUE_FULL or < 0. */
int registry_forget(Service *service, const Request *request, Ticket ticket);
/* The store is done with the one that was taken or forgotten last. */
int registry_complete(Service *service, Ticket ticket, StoreOutcome outcome);
/* A model is on its way to the disk: what depends on it waits. */
bool registry_is_busy(const Service *service);

/*
 * Gives each item its model. 0 with the number of keys that their models do not know; or, with the policy strict,
 * REGISTRY_REFUSED when one does not keep to its model: that was answered then.
 */
enum {
        REGISTRY_REFUSED = 1,
};
int registry_judge(Service *service, const Request *request, Ticket ticket, size_t *ret_n_odd);
