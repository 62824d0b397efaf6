/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Jobs: their list, their metrics and samples. */

#include "http/subject.h"

void jobs_subject_metrics(Exposition *exposition, const Snapshot *snapshot);

extern const Subject jobs_subject;
