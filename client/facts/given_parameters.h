/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Given parameters: the parameters of all results of a program, in $PERFD_PARAMETERS
 *
 * The variable is a JSON object. A sweep sets it to the settings of each point, so that results of different settings
 * are not taken for repetitions of one measurement. What a document names itself comes first.
 */

#include "document/indicator.h"
#include "util/arena.h"
#include "value/value.h"

#define GIVEN_PARAMETERS_VARIABLE "PERFD_PARAMETERS"

/* Returns the document with the parameters that it lacks, else the document unchanged. 0, INDICATOR_INVALID with a
 * complaint, or -ENOMEM. */
int given_parameters_add(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint);
