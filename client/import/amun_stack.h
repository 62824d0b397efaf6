/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Amun stack: the software stack of a run, from the specification of its inspection and the facts that the run recorded. */

#include "client/import/amun_run.h"

/* Sets the stack of a submission, unless nothing is known. Everything lives in the arena. 0 or -ENOMEM. */
int amun_stack_make(const AmunPlace *place, Arena *arena, Submission *ret);
