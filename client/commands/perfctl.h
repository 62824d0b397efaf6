/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * perfctl: what jobs and people type
 *
 * Each command is one function, called with its options checked; it prints
 * and returns the exit status. Data goes to standard output, messages to standard error.
 */

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "util/buffer.h"

int perfctl_main(int argc, char **argv);

int cmd_submit(const Options *options);
int cmd_run(const Options *options);
int cmd_run_spec(const Options *options); /* of a specification, see spec.h */
int cmd_job_begin(const Options *options);
int cmd_job_end(const Options *options);
int cmd_sweep(const Options *options);
int cmd_job_list(const Options *options);
int cmd_job_show(const Options *options);
int cmd_metrics(const Options *options);
int cmd_report(const Options *options);
int cmd_watch(const Options *options);
int cmd_status(const Options *options);
int cmd_doctor(const Options *options);
int cmd_mark(const Options *options);
int cmd_time(const Options *options);
int cmd_export_perf_report(const Options *options);
int cmd_indicator_list(const Options *options);
int cmd_indicator_show(const Options *options);
int cmd_indicator_query(const Options *options);
int cmd_indicator_rank(const Options *options);
int cmd_indicator_batch(const Options *options);
int cmd_indicator_register(const Options *options);
int cmd_indicator_unregister(const Options *options);
int cmd_indicator_models(const Options *options);
int cmd_indicator_schema(const Options *options);
int cmd_flush(const Options *options);
int cmd_import_inspection(const Options *options);
