/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A job as JSON, member by member into the object that is open
 */

#include "http/privacy.h"
#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"
#include "util/json.h"

/* Writes identity, place and end of a job, everything but its numbers, as the viewer may see it. */
void job_json_write_identity(Json *json, const JobView *job, const Viewer *viewer);
/* "limits": what it may use. */
void job_json_write_limits(Json *json, const UsageSet *usage);
/* "on": the node it is asked of, as it is now. snapshot NULL: nothing is known of it. */
void job_json_write_node(Json *json, const NodeSnapshot *node);
/* "advice". NULL likewise. */
void job_json_write_advice(Json *json, const JobView *job, const NodeSnapshot *node);
/* "metrics", "absent", "compat", "advice" and "limits" of a job whose numbers are not known yet. */
void job_json_write_no_numbers(Json *json);
