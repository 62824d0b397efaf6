/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A job as HTML, piece by piece
 *
 * The job's own numbers stand beside the node's. What is sampled is marked with ~; what is absent is a dash
 * that tells the reason.
 */

#include "snapshot/job_view.h"
#include "snapshot/job_view.h"
#include "snapshot/node_snapshot.h"
#include "util/buffer.h"

/* Its name, or its id where it has none. */
void job_html_title(Buffer *out, const JobView *job);
/* How long it ran, or has run so far. now_ms: when that is. */
double job_html_seconds(const JobView *job, uint64_t now_ms);
/* State, times, user, place. */
void job_html_facts(Buffer *out, const JobView *job, uint64_t now_ms);
/* Used of given: the job's own, or why there is nothing; and the node's. */
void job_html_own_meters(Buffer *out, const JobView *job, const NodeSnapshot *node);
void job_html_node_meters(Buffer *out, const JobView *job, const NodeSnapshot *node);
/* A list, or nothing at all. */
void job_html_advice(Buffer *out, const JobView *job, const NodeSnapshot *node);
/* Rows of the table "metric, job, node during the job". */
void job_html_numbers(Buffer *out, const JobView *job);
/* A row of the table of phases. total_seconds: of the whole job, for its share. */
void job_html_phase(Buffer *out, const PhaseView *phase, double seconds, double total_seconds);
