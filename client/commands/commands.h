/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands: the list of all commands, in the order of `perfctl help all`
 *
 * A new command is one file cmd_NAME.c, or a part of the file of its first word, and one row here.
 */

#include "client/cli/command.h"

#define COMMANDS_ADMIN "Administer perfd" /* perfctl help admin */

#define COMMANDS(HEADING, COMMAND)       \
        HEADING("Run and measure")       \
        COMMAND(cmd_run)                 \
        COMMAND(cmd_compare)             \
        COMMAND(cmd_sweep)               \
        COMMAND(cmd_mark)                \
        COMMAND(cmd_time)                \
        COMMAND(cmd_submit)              \
        COMMAND(cmd_kpi_submit)          \
        COMMAND(cmd_pipeline_submit)     \
        HEADING("Examine jobs and the node") \
        COMMAND(cmd_report)              \
        COMMAND(cmd_metrics)             \
        COMMAND(cmd_job_list)            \
        COMMAND(cmd_job_wait)            \
        COMMAND(cmd_pipeline_show)       \
        COMMAND(cmd_top)                 \
        COMMAND(cmd_status)              \
        COMMAND(cmd_doctor)              \
        HEADING("Compare indicators and KPIs") \
        COMMAND(cmd_indicator_list)      \
        COMMAND(cmd_indicator_show)      \
        COMMAND(cmd_indicator_query)     \
        COMMAND(cmd_indicator_rank)      \
        COMMAND(cmd_model_list)          \
        COMMAND(cmd_model_schema)        \
        COMMAND(cmd_model_add)           \
        COMMAND(cmd_model_remove)        \
        COMMAND(cmd_stack_list)          \
        COMMAND(cmd_stack_show)          \
        COMMAND(cmd_stack_diff)          \
        COMMAND(cmd_kpi_list)            \
        COMMAND(cmd_kpi_check)           \
        COMMAND(cmd_kpi_accept)          \
        HEADING("Import and process results") \
        COMMAND(cmd_import_amun)         \
        COMMAND(cmd_import_kpis)         \
        COMMAND(cmd_results)             \
        HEADING(COMMANDS_ADMIN)          \
        COMMAND(cmd_job_begin)           \
        COMMAND(cmd_job_end)             \
        COMMAND(cmd_quota)               \
        COMMAND(cmd_flush)               \
        COMMAND(cmd_reload)              \
        COMMAND(cmd_db_check)            \
        COMMAND(cmd_db_backup)           \
        COMMAND(cmd_db_salvage)          \
        COMMAND(cmd_db_forget)

#define COMMANDS_HEADING(text)
#define COMMANDS_DECLARE(command) extern const Command command;
COMMANDS(COMMANDS_HEADING, COMMANDS_DECLARE)
#undef COMMANDS_HEADING
#undef COMMANDS_DECLARE

/* Ends with {}. */
extern const CommandRow commands[];
