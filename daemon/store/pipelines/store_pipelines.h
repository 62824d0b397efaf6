/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pipeline subject: statistics of the data pipelines of jobs. */

#include "store/table/store_subject.h"

extern const StoreSubject store_pipelines;
