/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Energy shares: divides the energy of the node among its jobs
 *
 * At each tick, the energy since the last tick is divided by CPU time: a job's share is that of its CPU time in the
 * time of all CPUs that were not idle; the rest belongs to other processes, or to nobody if none ran. A job within the
 * cgroup of another is a part of it. A job that ends, or is marked, takes its share of what has come since the tick.
 * What is divided, what is left to others and what remains of a division are the energy of the node, to the µJ.
 */

#include "jobs/table/jobs.h"

/* Begins at totals of the node, at which a former perfd divided the last time. */
void energy_shares_begin(EnergyPool *pool, const Totals *totals);
/* Divides what has come since the last tick among the running jobs, whose cgroups have been read. */
void energy_shares_divide(Jobs *jobs, const Totals *totals);
/* Gives a job its share now, after its cgroup was read. */
void energy_shares_settle(Jobs *jobs, Job *job, const Totals *totals);
