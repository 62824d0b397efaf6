/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Job query: what `report` and `job show` request of perfd beside the job */

#include "client/api/api_query.h"

/* The node that the job ran on. query: initialised, owns the answer. NULL where perfd does not tell. */
const Value *job_query_node(ApiQuery *query, const Value *job);
