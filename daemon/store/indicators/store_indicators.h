/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Indicator subject: results, the indicators that they are of, models, and the index of results. */

#include "store/table/store_subject.h"

extern const StoreSubject store_indicators;
