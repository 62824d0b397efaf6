/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Declaration of one parameter in the JSON text of a model
 *
 * A declaration is a type, a list of types, or an object with either as "type", and optionally "values"; null is any type
 * (perfd-indicators(5)).
 */

#include <stdbool.h>

#include "document/condition.h"
#include "util/buffer.h"

/* True if a result that conforms to the declaration can meet the condition, or, for !=, can fail to meet the condition. */
bool declaration_allows(JsonText declaration, const Condition *condition);
/* Writes "int, one of 256, 512". */
void declaration_put_expected(JsonText declaration, Buffer *out);
