/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Value text: values of files as the type that is declared for them, as JSON */

#include <stdbool.h>

#include "json/json.h"
#include "value/value.h"

/* Writes a value of a type, a PropertyType or 0 for any. A text that reads as a number is one where a number is
 * declared. Returns false if it is not of the type, and writes nothing. */
bool value_text_put(const Value *value, unsigned type, Json *json);
/* As above for a text that has no type, such as a cell: a number if it reads as one. */
bool value_text_put_plain(const char *text, unsigned type, Json *json);
