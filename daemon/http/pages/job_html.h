/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parts of a job's page as HTML
 *
 * Metrics of the job itself are shown next to those of the node. Sampled values are marked with ~; an absent value
 * is a dash with the reason as tooltip.
 */

#include "snapshot/job_description.h"
#include "snapshot/job_description.h"
#include "snapshot/snapshot.h"
#include "util/buffer.h"

/* Writes the job's name, or its id without a name. */
void job_html_title(Buffer *out, const JobView *job);
/* Writes the duration of the job, up to now_ms if it is running. */
double job_html_seconds(const JobView *job, uint64_t now_ms);
/* Writes state, times, user and place. */
void job_html_facts(Buffer *out, const JobView *job, uint64_t now_ms);
/* Writes used and allocated resources: of the job itself, or the reason why they are unknown; and of the node. */
void job_html_own_meters(Buffer *out, const JobView *job, const NodeSnapshot *node);
void job_html_node_meters(Buffer *out, const JobView *job, const NodeSnapshot *node);
/* Writes a list, or nothing without advice. */
void job_html_advice(Buffer *out, const JobView *job, const NodeSnapshot *node);
/* Writes rows of the table "metric, job, node during the job". */
void job_html_numbers(Buffer *out, const JobView *job);
/* Writes a row of the table of phases. total_seconds: duration of the job, for the phase's share. */
void job_html_phase(Buffer *out, const PhaseView *phase, double seconds, double total_seconds);
