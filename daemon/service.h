/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Service: what perfd does, without the event loop's wiring
 *
 * Takes requests from ingest, decides, puts rows into the store, and answers when they are
 * on disk. daemon.c calls it from timers and descriptors. Nothing in here waits.
 */

#include "state.h"

/* With the store, the node and the table of jobs ready: recovers jobs, takes the first sample. ingest and http are opened after. */
int service_start(Service *service);
void service_deinit(Service *service);

/* At each tick: sample, observe, publish. 0 or a negative errno. */
int service_tick(Service *service);
/* Makes the present state the snapshot that HTTP reads; service_tick() does so as well. */
void service_publish(Service *service);
/* At each checkpoint interval: windows, the meter's account and the node's history to the store. */
int service_checkpoint(Service *service);
/* After every turn of the loop: places the requests that have arrived. */
int service_take_requests(Service *service);
/* When store_fd() is readable: answers what is on disk. */
int service_take_completions(Service *service);

/* Limits, intervals and patterns from service->config to the modules. 0 or < 0. */
int service_configure(Service *service);
