/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/cli/input.h"
#include "client/cli/job_ref.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/deliver/deliver.h"
#include "client/pipeline/pipeline_line.h"
#include "client/spdl/spdl_file.h"
#include "client/spdl/spdl_time.h"
#include "client/deliver/pipeline_pending.h"
#include "value/value_parse.h"

#define LINE_BYTES_MAX 65536U
#define COMPLAINTS_MAX 20U

typedef struct ImportSpdlOptions {
        const char *job, *producer, *begin;
        uint64_t timeout_ns;
        bool json;
} ImportSpdlOptions;

static const Option options_table[] = {
        OPTION_ROW_JOB(ImportSpdlOptions, job),
        OPTION_ROW_PRODUCER(ImportSpdlOptions, producer),
        { "begin", 0, "TIME", "Time at which the pipelines began, for intervals without a time", OPTION_TEXT(ImportSpdlOptions, begin) },
        OPTION_ROW_TIMEOUT(ImportSpdlOptions, timeout_ns),
        OPTION_ROW_JSON(ImportSpdlOptions, json),
        {},
};

typedef struct SpdlImport {
        const char *path, *file; /* name for messages */
        JobRef job;
        Courier courier;
        PipelinePending pending;
        Arena arena;
        uint64_t n_sent, n_refused;
        bool is_remarked; /* perfd's remark on the file was printed */
} SpdlImport;

static void import_deinit(SpdlImport *import) {
        deliver_courier_deinit(&import->courier);
        pipeline_pending_deinit(&import->pending);
        arena_deinit(&import->arena);
}

/* Sends all that waits. Returns an exit status, or < 0. */
static int send_pending(SpdlImport *import) {
        while (!pipeline_pending_is_empty(&import->pending)) {
                Delivery delivery;
                int r;

                r = deliver_pipeline_pending(&import->courier, &import->job, &import->pending, &import->n_sent, &delivery);
                if (r < 0)
                        return r;
                if (r != 0)
                        return delivery_failure_print(&delivery, &import->courier, r);
                if (delivery.remark[0] && !import->is_remarked)
                        message_print("%s: %s", import->file, delivery.remark);
                import->is_remarked |= delivery.remark[0] != '\0';
        }
        return EXIT_DONE;
}

/* Takes a row. A row with an error is reported, and the others are imported. */
static int take_row(SpdlImport *import, const Buffer *row, const char *place) {
        char error[PIPELINE_LINE_ERROR_MAX];
        PipelineLine line;
        int r;

        arena_reset(&import->arena);
        r = pipeline_line_read(row->text, row->n, pipeline_report_counts_open_periods(import->pending.producer), &import->arena, &line,
                               error);
        if (r == PIPELINE_LINE_INVALID) {
                if (import->n_refused++ < COMPLAINTS_MAX)
                        message_print("%s: %s: %s", import->file, place, error);
                return 0;
        }
        if (r < 0)
                return r;
        return line.kind == PIPELINE_LINE_EVENT ? pipeline_pending_add_event(&import->pending, &line.event)
                                                : pipeline_pending_add_interval(&import->pending, &line.interval);
}

/* Returns an exit status, or < 0. */
static int import_file(SpdlImport *import, double begin_s) {
        scoped(spdl_file_deinit) SpdlFile file = {};
        char error[SPDL_FILE_ERROR_MAX];
        scoped(buffer_deinit) Buffer row = {};
        int r, status = EXIT_DONE;

        r = spdl_file_open(&file, import->path, &(SpdlFileOptions){ true, begin_s }, error);
        while (r == 0 && status == EXIT_DONE) {
                r = spdl_file_next(&file, &row, error);
                if (r == 0)
                        r = take_row(import, &row, spdl_file_place(&file));
                if (r == 0 && (import->pending.n_intervals >= PIPELINE_REPORT_INTERVALS_MAX ||
                               import->pending.n_events >= PIPELINE_REPORT_EVENTS_MAX))
                        status = send_pending(import);
        }
        if (r == SPDL_FILE_INVALID)
                message_print("%s: %s", import->file, error);
        if (r < 0 || status != EXIT_DONE)
                return r < 0 ? r : status;
        if (file.table.n_left_out > 0)
                message_print("%s: left out %zu interval%s with missing values, repeated times or a truncated line", import->file,
                              file.table.n_left_out, file.table.n_left_out == 1 ? "" : "s");
        status = send_pending(import); /* the rows before an error as well */
        return status == EXIT_DONE && r == SPDL_FILE_INVALID ? EXIT_FAILED : status;
}

static int print_sent(const SpdlImport *import, bool is_json) {
        scoped(buffer_deinit) Buffer out = {};

        if (import->n_refused > COMPLAINTS_MAX)
                message_print("%lu further rows have errors", (unsigned long)import->n_refused - COMPLAINTS_MAX);
        if (is_json)
                buffer_printf(&out, "{\"sent\":%lu,\"refused_rows\":%lu}\n", (unsigned long)import->n_sent,
                              (unsigned long)import->n_refused);
        else
                buffer_printf(&out, "%lu sent\n", (unsigned long)import->n_sent);
        return output_print(&out);
}

static int import_spdl_run(const CommandLine *line) {
        const ImportSpdlOptions *options = line->options;
        scoped(import_deinit) SpdlImport import = {};
        double begin_s = options->begin ? spdl_time_find(options->begin, strlen(options->begin)) : NAN;
        int r, status = EXIT_DONE;

        deliver_courier_init(&import.courier, line->global.socket, options->timeout_ns);
        if (options->producer && strlen(options->producer) > PIPELINE_PRODUCER_MAX)
                return command_refuse(line->command->name, "--producer may have up to %u bytes", PIPELINE_PRODUCER_MAX);
        if (options->begin && isnan(begin_s))
                return command_refuse(line->command->name, "--begin expects a date and time such as '2026-11-23 05:12:36' or "
                                      "2026-11-23T04:12:36Z, not '%.80s'", options->begin);
        if (!job_ref_find(options->job, &import.job))
                return EXIT_USAGE;
        (void)stpncpy(import.pending.producer, options->producer ?: "spdl", PIPELINE_PRODUCER_MAX);

        r = arena_init(&import.arena, value_parse_arena_size(LINE_BYTES_MAX));
        for (int i = 0; r >= 0 && i < line->n_arguments; i++) {
                import.path = line->arguments[i];
                import.file = input_name(import.path);
                import.is_remarked = false;
                r = import_file(&import, begin_s);
                status = r > status ? r : status;
        }
        if (r < 0)
                return command_fail(r);
        r = print_sent(&import, options->json);
        return status != EXIT_DONE ? status : import.n_refused > 0 ? EXIT_FAILED : r;
}

const Command cmd_import_spdl = {
        .name = "import spdl",
        .arguments = "FILE|-…",
        .summary = "Import statistics from a database, an export or a log of SPDL",
        .help = "Reads the SQLite files that the statistics logger of SPDL's examples writes, exports of SPDL as JSON, and logs with "
                "SPDL's lines, and stores the intervals with a job, as `perfctl pipeline submit` does. The job is --job, else "
                "$PERFD_JOB, else the job whose control group this process is in; it may have ended. A repeated import stores nothing "
                "again.",
        .examples = { "perfctl import spdl --job train-17 --producer spdl=0.6 stats.db",
                      "perfctl import spdl --job train-17 --begin '2026-11-23 05:12:36' training.log" },
        COMMAND_OPTIONS(ImportSpdlOptions, options_table),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = import_spdl_run,
};
