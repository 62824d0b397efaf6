/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes a job as JSON, member by member, into the open object */

#include "http/privacy.h"
#include "json/json.h"
#include "snapshot/job_description.h"
#include "snapshot/snapshot.h"

/* Writes identity, place and end of a job, without its metrics, as the viewer may see them. */
void job_json_write_identity(Json *json, const JobView *job, const Viewer *viewer);
/* Writes "limits": the resources that the job may use. */
void job_json_write_limits(Json *json, const UsageSet *usage);
/* Writes "on": the current state of the node. snapshot NULL: unknown. */
void job_json_write_node(Json *json, const NodeSnapshot *node);
/* Writes "advice". snapshot NULL: unknown. */
void job_json_write_advice(Json *json, const JobView *job, const JobGpus *gpus, const NodeSnapshot *node);
/* Writes "metrics", "absent", "compat", "advice" and "limits" of a job whose metrics are not known yet. */
void job_json_write_no_numbers(Json *json);
