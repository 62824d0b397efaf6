/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicator subject: results, the indicators that they are of, models, and the index of results. */

#include "store/subject.h"

extern const Subject indicator_subject;
