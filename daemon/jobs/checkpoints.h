/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checkpoints: how far every running job is, to the store
 *
 * In rounds, and each in parts: a thousand jobs at once would be megabytes of text, and hold up the loop while it is
 * written. The next part is put when the store has written something, so that little of it waits there.
 */

#include "state.h"

/* Begins a round and puts its first part; one that is not over is given up. When draining, all of it. 0 or < 0. */
int checkpoints_begin(Service *service);
/* After the store has written: the next part, if a round is under way. 0 or < 0. */
int checkpoints_continue(Service *service);
