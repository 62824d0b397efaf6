/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Found: cgroups that the finder takes for jobs
 *
 * A group becomes the own group of the job that was announced under its id, or of a new job that nobody announced.
 */

#include "state.h"

/* Makes the finder for the patterns of the configuration, anew after a reload. Without a pattern there is none. 0, or < 0:
 * then the one of before goes on. */
int detection_configure(Service *service);
/* The store has done something: a group that was made anew while its job was being stored is a new job's. 0 or < 0. */
int detection_take_postponed(Service *service);
void detection_deinit(Service *service);
