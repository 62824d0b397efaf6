/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of a client of libperfd that its other files use; none is exported. */

#include "client/wire/perfd.h"
#include "pipeline/pipeline_report.h"

/* Sends a report, whose job is set here; job NULL: that of this process. Returns as the functions of perfd.h. */
int libperfd_send_report(PerfdClient *client, const char *job, PipelineReport *report);

uint64_t libperfd_timeout_ns(const PerfdClient *client);

/* Returns true for the label of a stage, of up to PIPELINE_LABEL_MAX bytes. */
bool libperfd_label_is_valid(const char *label);
