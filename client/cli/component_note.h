/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "document/indicator.h"

/* Reports on standard error that perfd compares components without regard to case, unless it is in lower case or
 * *is_noted. */
void component_note(const Indicator *indicator, bool *is_noted);
