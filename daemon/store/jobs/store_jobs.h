/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job subject: jobs, their phases, timelines and progress, and the meter's account. */

#include "store/table/store_subject.h"

extern const StoreSubject store_jobs;
