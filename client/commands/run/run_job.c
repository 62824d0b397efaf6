/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/run/run_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "client/api/api_query.h"
#include "client/cgroup/isolation.h"
#include "client/cgroup/limits.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/deliver/spool.h"
#include "client/facts/program_version.h"
#include "client/facts/script.h"
#include "client/kpi/kpi_judge.h"
#include "client/mlflow/mlflow.h"
#include "client/report/report.h"
#include "client/results/command_result.h"
#include "client/results/kept_parameters.h"
#include "client/results/run_results.h"
#include "client/results/run_stack.h"
#include "client/run/announcement.h"
#include "client/run/capture.h"
#include "client/run/child.h"
#include "client/wire/own_job.h"
#include "text/text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/utf8.h"

/* Longest delays of a job, whatever state perfd is in. */
#define ISOLATION_TIMEOUT_NS (200 * NS_PER_MS)
#define LIMITED_TIMEOUT_NS (2 * NS_PER_S) /* a requested limit justifies a longer wait */
#define END_TIMEOUT_NS (500 * NS_PER_MS)
#define UNITS_TIMEOUT_NS (500 * NS_PER_MS) /* the summary does without them */
#define FLUSH_TIMEOUT_NS (200 * NS_PER_MS)

/* Output of the command, as far as it is captured. */
typedef struct RunOutput {
        bool is_captured;
        Capture capture;
        OutputTail error;
} RunOutput;

/* Outcome of the runs of the command. */
typedef struct RunEnds {
        JobEnd all;
        ChildEnd last;
        uint64_t n_killed; /* processes, of all runs, for want of memory */
} RunEnds;

/*
 * The runs of --repeat, or the only run without --repeat. A run that failed before it printed its indicator waits
 * here until another run has printed it: the failed run is then recorded for the same indicator, component and
 * version, with the parameters that all other runs have. Otherwise it would be counted nowhere.
 */
typedef struct RunSeries {
        uint64_t n_runs, n_failed;
        uint64_t n_stored, n_kept, n_lost; /* results stored by perfd, kept in the spool, or lost */
        Summary summary;
        /* Name and component, once a run has printed them. */
        char name[NAME_MAX_BYTES + 1], component[COMPONENT_MAX_BYTES + 1];
        char *version; /* owned */
        KeptParameters parameters;
        RunResults *unnamed; /* owned: failed runs that wait */
        size_t n_unnamed, n_allocated;
} RunSeries;

typedef struct RunJob {
        const RunOptions *options;
        char *const *command;
        Launch launch;
        JobInfo info;
        RunLimits limits;
        Isolated isolated;
        Courier courier;
        Announcement announcement;
        bool is_ended; /* perfd has its end */
        bool is_kept;  /* in the spool, and reported */
        ClientCpu own_cpu; /* when this process entered the control group; after the announcement, at its time */
        RunEnds ends;

        RunOutput output;
        RunPlace place;
        ProgramVersion version; /* of a program that is no script */
        bool has_place;
        RunStack stack;
        CommandBenchmark benchmark;
        RunResultsPlan plan;
        RunSeries series;
} RunJob;

/* --- the series ----------------------------------------------------------------------------------- */

static void run_series_deinit(RunSeries *series) {
        summary_deinit(&series->summary);
        kept_parameters_deinit(&series->parameters);
        for (size_t i = 0; i < series->n_unnamed; i++)
                run_results_deinit(&series->unnamed[i]);
        free(series->unnamed);
        free(series->version);
}

/* Takes the name and component from the first run that has them. */
static void set_names(RunSeries *series, const Indicator *indicator) {
        if (!series->name[0])
                (void)snprintf(series->name, sizeof(series->name), "%s", indicator->name);
        if (!series->component[0] && indicator->component)
                (void)snprintf(series->component, sizeof(series->component), "%s", indicator->component);
        if (!series->version && indicator->version)
                series->version = strdup(indicator->version); /* without memory it is not known */
}

static int update_from_results(RunSeries *series, const RunResults *results) {
        int r = 0;

        if (results->n_items > 0)
                set_names(series, &results->items[0].indicator);
        for (size_t i = 0; i < results->n_items && r == 0; i++) {
                r = kept_parameters_add(&series->parameters, &results->items[i].indicator);
                if (r == 0 && !submission_has_failed(&results->items[i]))
                        r = summary_add(&series->summary, &results->items[i].indicator);
        }
        return r;
}

static int defer_unnamed(RunSeries *series, RunResults *results) {
        if (ARRAY_RESERVE(series->unnamed, series->n_allocated, series->n_unnamed + 1) < 0)
                return -ENOMEM;
        series->unnamed[series->n_unnamed++] = *results;
        *results = (RunResults){};
        return 0;
}

/* Adds the results of one run. Results without a name are moved out of *results, which is left empty. 0 or -ENOMEM. */
static int run_series_add(RunSeries *series, RunResults *results) {
        return results->is_unnamed ? defer_unnamed(series, results) : update_from_results(series, results);
}

/* Completes missing names: the given ones, which may be NULL, else the name of the file that was run. */
static void run_series_complete(RunSeries *series, const char *name, const char *component, const char *file) {
        if (!series->name[0] && name && indicator_name_is_valid(name, NAME_MAX_BYTES))
                (void)snprintf(series->name, sizeof(series->name), "%s", name);
        if (!series->name[0])
                script_base_name(file, series->name, sizeof(series->name));
        if (!series->component[0] && component)
                (void)snprintf(series->component, sizeof(series->component), "%s", component);
}

enum {
        RUN_SERIES_NO_NAME = 1, /* the name of the series is not valid */
};

/* Names a run that waited, after run_series_complete(). version: if no run printed one; or NULL. 0,
 * RUN_SERIES_NO_NAME or -ENOMEM. */
static int run_series_name(RunSeries *series, RunResults *unnamed, const char *version) {
        const IndicatorGiven given = { series->name, series->component, series->version ?: version };
        const Value *document;
        Complaint complaint;
        int r;

        r = kept_parameters_document(&series->parameters, &document);
        if (r < 0)
                return r;
        if (indicator_from_failed_run(document, &given, DOCUMENT_LIMITS_NONE, &unnamed->items[0].indicator,
                                      &complaint) != 0)
                return RUN_SERIES_NO_NAME;

        unnamed->is_unnamed = false;
        return 0;
}

/* --- the job -------------------------------------------------------------------------------------- */

/* A group that perfd has not read at the end is left for it to read. */
static void run_job_deinit(RunJob *run) {
        isolation_leave(&run->isolated, run->is_ended || !run->announcement.is_begun);
        announcement_deinit(&run->announcement);
        job_info_deinit(&run->info);
        deliver_courier_deinit(&run->courier);
        capture_deinit(&run->output.capture);
        output_tail_deinit(&run->output.error);
        run_series_deinit(&run->series);
        run_stack_deinit(&run->stack);
        program_version_deinit(&run->version);
}

/* --- own CPU time ---------------------------------------------------------------------------------- */

static uint64_t microseconds(const struct timeval *time) {
        return (uint64_t)time->tv_sec * (NS_PER_S / NS_PER_US) + (uint64_t)time->tv_usec;
}

/*
 * Returns the CPU time of perfctl itself since an earlier result, or {}. Neither part decreases: the kernel keeps the
 * division into user and system time monotonic.
 */
static ClientCpu own_cpu_since(const ClientCpu *since) {
        struct rusage rusage;

        if (getrusage(RUSAGE_SELF, &rusage) < 0)
                return (ClientCpu){};

        return (ClientCpu){
                .user_us = microseconds(&rusage.ru_utime) - since->user_us,
                .system_us = microseconds(&rusage.ru_stime) - since->system_us,
        };
}

/* --- the end -------------------------------------------------------------------------------------- */

static void spool_batch(RunJob *run, const Batch *batch, const Delivery *delivery, const char *reason) {
        const char *what = batch->ended_job ? "end and results" : "results";
        Batch rest = *batch;
        char directory[PATH_MAX] = "", name[SPOOL_NAME_MAX];
        int r;

        rest.items += delivery->n_acked;
        rest.n_items -= delivery->n_acked;
        r = spool_find_directory(run->options->spool, directory);
        if (r == 0)
                r = spool_put(directory, &rest, run->ends.all.realtime_ms, name);
        *(r < 0 ? &run->series.n_lost : &run->series.n_kept) += rest.n_items;
        if (r < 0)
                message_print("%s; the job's %s are lost, since they cannot be kept in %s: %s", reason, what,
                    directory[0] ? directory : "a spool", error_text(-r));
        else if (!run->is_kept)
                message_print("%s; the job's %s are kept in %s/%s", reason, what, directory, name);
        run->is_kept = true;
}

/* A result that perfd refuses, which is spoken of, takes none of the others with it. */
static int deliver_valid(RunJob *run, RunResults *results, Batch *batch, Delivery *ret) {
        char reason[DELIVERY_TEXT_MAX];
        int r;

        while ((r = deliver(&run->courier, batch, ret)) == DELIVERY_REFUSED && ret->refused < batch->n_items) {
                Submission *refused = &results->items[ret->refused];

                batch->n_items--;
                run->series.n_lost++;
                memmove(refused, refused + 1, (batch->n_items - ret->refused) * sizeof(*refused));
                ret->refused = DELIVERY_WHOLE;
                delivery_explain(ret, &run->courier, reason);
                message_print("an indicator in the output was not submitted: %s", reason);
        }
        return r;
}

/* Sends results and end together, and the end alone if perfd refuses the results. */
static int deliver_results_and_end(RunJob *run, RunResults *results, Batch *batch, Delivery *ret) {
        Batch alone = { .ended_job = batch->ended_job, .end = batch->end };
        char reason[DELIVERY_TEXT_MAX];
        int r;

        deliver_courier_set_timeout(&run->courier, END_TIMEOUT_NS - run->announcement.spent_ns);
        /* where it was away before, it is hardly just being restarted */
        run->courier.is_patient = run->announcement.is_begun;
        r = deliver_valid(run, results, batch, ret);
        run->series.n_stored += ret->n_acked;
        if (r == DELIVERY_REFUSED || r == DELIVERY_UNREACHABLE)
                run->series.n_lost += batch->n_items - ret->n_acked;
        if (r != DELIVERY_REFUSED || !batch->ended_job || ret->n_acked == batch->n_items)
                return r;

        delivery_explain(ret, &run->courier, reason);
        message_print("the job's results were refused: %s", reason);
        return deliver(&run->courier, &alone, ret);
}

static int deliver_end(RunJob *run, RunResults *results, Batch *batch) {
        char reason[DELIVERY_TEXT_MAX], directory[PATH_MAX];
        Delivery delivery;
        Flush flush;
        int r;

        if ((batch->n_items == 0 && !batch->ended_job) || (run->options->batch.measured && !run->announcement.is_begun))
                return 0;

        r = deliver_results_and_end(run, results, batch, &delivery);
        if (r < 0)
                return r;
        if (r > 0) {
                delivery_explain(&delivery, &run->courier, reason);
                if (r == DELIVERY_UNAVAILABLE)
                        spool_batch(run, batch, &delivery, reason);
                else
                        message_print("the job's end or results were refused: %s", reason);
                return 0;
        }

        run->is_ended = batch->ended_job != NULL;
        if (run->options->verbose && delivery.n_stored > 0 && !run->plan.has_batch)
                message_print("%zu indicators stored", delivery.n_stored);
        if (!batch->ended_job && run->announcement.is_begun) /* another run follows */
                return 0;
        deliver_courier_set_timeout(&run->courier, FLUSH_TIMEOUT_NS);
        if (spool_find_directory(run->options->spool, directory) == 0)
                (void)deliver_spool(&run->courier, directory, &flush);
        return 0;
}

/* Sends the results of one run immediately, so that a later failure cannot lose them. */
static int deliver_results(RunJob *run, RunResults *results, bool is_last) {
        const RunOfBatch *place = run->options->batch.place;
        Batch batch = { .items = results->items, .n_items = place && !place->is_stored ? 0 : results->n_items };
        int r;

        if (is_last) {
                r = announcement_end(&run->announcement);
                if (r < 0)
                        return r;
        }
        if (is_last && run->announcement.is_begun) {
                batch.ended_job = run->info.id;
                batch.end = run->ends.all;
                batch.end.client_cpu = own_cpu_since(&run->own_cpu);
        }
        return deliver_end(run, results, &batch);
}

static int deliver_unnamed(RunJob *run) {
        const char *file = run->place.has_script ? run->place.script.origin : run->command[0];
        RunSeries *series = &run->series;
        int r = 0;

        if (series->n_unnamed > 0)
                run_series_complete(series, run->options->failed.indicator,
                                    run->options->failed.component
                                            ?: (run->plan.benchmark ? run->benchmark.component : NULL),
                                    file);
        for (size_t i = 0; i < series->n_unnamed && r >= 0; i++) {
                r = run_series_name(series, &series->unnamed[i], run->place.version);
                if (r == RUN_SERIES_NO_NAME)
                        message_print(
                                "failed run not recorded: '%s' is not a valid indicator name; use --indicator NAME",
                                series->name);
                else if (r == 0)
                        r = deliver_results(run, &series->unnamed[i], false);
        }
        return r < 0 ? r : 0;
}

/* Reads the results of one run. A command that has printed an indicator once is expected to print it in each run. */
static int read_results(RunJob *run, const RunFacts *facts, uint64_t index, RunResults *ret) {
        if (run->series.component[0] && run->plan.benchmark &&
            strcmp(run->series.component, run->benchmark.component) != 0) {
                run->plan.is_wanted |= run->plan.has_batch;
                run->plan.benchmark = NULL;
        }
        if (!run->has_place)
                run_results_read_place(&run->place);
        run->has_place = true;
        run->place.version = run->options->component_version
                                     ?: run->place.has_script ? run->place.script.sha256
                                                              : program_version_get(&run->version);
        return run_results_read(ret, &run->plan, &run->output.capture, facts, run->ends.last.status, (uint32_t)index);
}

/* Records one run; the last run also ends the job. is_kept: the run has results. */
static int process_run(RunJob *run, const RunFacts *facts, uint64_t index, bool is_kept, bool is_last) {
        scoped(run_results_deinit) RunResults results = {};
        int r = 0;

        if (is_kept && (run->output.is_captured || run->plan.benchmark) && !run->ends.last.exec_error)
                r = read_results(run, facts, index, &results);
        if (r == 0)
                r = run_series_add(&run->series, &results);
        if (r == 0 && is_last)
                r = deliver_unnamed(run);
        return r == 0 ? deliver_results(run, &results, is_last) : r;
}

/* Prints each line as a message, which escapes the control characters in the names that scripts print. */
static void print_lines(Buffer *text) {
        char *line, *rest = text->text;

        while (rest && (line = strsep(&rest, "\n")))
                if (line[0])
                        message_print("%s", line);
}

/* EXIT_DONE, or EXIT_FAILED after a message. */
static int export_summary(const RunJob *run, const char *batch) {
        const RunSeries *series = &run->series;
        scoped(buffer_deinit) Buffer text = {};
        ExportFormat format;
        int r;

        (void)summary_find_format(run->options->batch.output, &format); /* checked before the first run */
        r = summary_write_file(&series->summary, &(ExportBatch){ batch, series->n_runs, series->n_failed }, format,
                               &text);
        return r < 0 ? command_fail(r) : output_write_file(run->options->batch.output, &text);
}

/* Asks for the units that models declare for the results of a batch. NULL: unknown. */
static const Value *ask_units(const RunJob *run, const GlobalOptions *global, const char *batch, ApiQuery *query) {
        scoped(buffer_deinit) Buffer path = {};

        if (run->series.n_stored == 0)
                return NULL;
        api_query_batch_path(&path, batch);
        return buffer_error(&path) == 0 ? value_get(api_query_peek(query, global, path.text, UNITS_TIMEOUT_NS), "units")
                                        : NULL;
}

/* Prints the summary of a batch. EXIT_DONE, or EXIT_FAILED if it could not be exported. */
static int summarise(RunJob *run, const GlobalOptions *global) {
        RunSeries *series = &run->series;
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(buffer_deinit) Buffer text = {};
        char batch[RESULT_ID_TEXT_MAX], lost[TEXT_MAX] = "";
        int r;

        if (!run->plan.has_batch || run->options->batch.measured)
                return EXIT_DONE;

        id_format_result(run->plan.batch, batch);
        r = run->options->batch.output ? export_summary(run, batch) : EXIT_DONE;
        if (series->n_lost > 0)
                snprintf(lost, sizeof(lost), ", %ju results not stored", (uintmax_t)series->n_lost);
        summary_write_commands(&series->summary, &text);
        summary_write(&series->summary, ask_units(run, global, batch, &query), &text);
        print_lines(&text);
        message_print("batch %s: %ju run%s, %ju failed, %ju result%s%s", batch, series->n_runs,
                      series->n_runs == 1 ? "" : "s", series->n_failed, series->n_stored + series->n_kept,
                      series->n_stored + series->n_kept == 1 ? "" : "s", lost);
        if (series->n_stored > 0)
                message_print("details: perfctl indicator show --batch %s", batch);
        return r;
}

/* Shows how far a batch is, on a terminal. A line is overwritten unless the command prints lines as well. */
static void show_progress(const RunJob *run, uint64_t n_left) {
        bool is_silent = run->output.is_captured && run->output.capture.text.n == 0 && !run->output.capture.is_too_long;
        scoped(buffer_deinit) Buffer text = {};

        if (run->options->batch.repeat < 2 || isatty(STDERR_FILENO) == 0)
                return;

        summary_write_progress(&run->series.summary, n_left, &text);
        if (!text.text || buffer_error(&text) < 0)
                return;
        if (is_silent)
                (void)fprintf(stderr, "\r\033[K%s%s", n_left > 0 ? text.text : "", n_left > 0 ? " " : "");
        else
                message_print("%s", text.text);
}

/* --- all of it ------------------------------------------------------------------------------------ */

static bool wants_capture(const RunOptions *options) {
        /* A program on a terminal behaves differently from one on a pipe. */
        if (strcmp(options->collect, "auto") == 0)
                return isatty(STDOUT_FILENO) == 0 || options->batch.repeat > 0;
        return strcmp(options->collect, "yes") == 0;
}

/* Output and error in one file keep their order only if the command writes to the file itself. */
static bool is_one_file(void) {
        struct stat output, error;

        return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
               output.st_dev == error.st_dev && output.st_ino == error.st_ino;
}

static bool wants_error(const RunJob *run) {
        return run->output.is_captured && (run->plan.keeps_failed || (isatty(STDERR_FILENO) == 0 && !is_one_file()));
}

/* Each run is a result if runs are repeated or an indicator is named, unless the command prints an indicator of its
 * own. */
static void prepare_benchmark(RunJob *run) {
        const RunOptions *options = run->options;
        const char *name = options->failed.indicator;
        char file[NAME_MAX_BYTES + 1];

        if (!name) {
                script_base_name(run->place.has_script ? run->place.script.origin : run->command[0], file,
                                 sizeof(file));
                name = file;
        }
        command_result_name(name, run->benchmark.name);
        run->benchmark.words = options->batch.repeat > 0 ? run->command : NULL;
        run->benchmark.component = options->failed.component ?: COMMAND_RESULT_COMPONENT;
        run->plan.benchmark = &run->benchmark;
}

static int prepare_measuring(RunJob *run) {
        const RunOptions *options = run->options;
        bool is_wanted = strcmp(options->collect, "yes") == 0, is_benchmark;
        const char *path = getenv("PATH");
        char program[PATH_MAX];

        is_benchmark = !is_wanted && (options->batch.repeat > 0 || options->failed.indicator);
        run->output.is_captured = wants_capture(options);
        run->plan = (RunResultsPlan){
                .job = run->info.id,
                .is_wanted = is_wanted,
                .format = options->format,
                .keeps_failed = is_wanted || is_benchmark,
                .has_batch = options->batch.repeat > 0, .place = &run->place,
        };
        run->place.environment = options->environment;
        run->place.labels = options->job.labels;
        run->place.stack = run->stack.is_known ? &run->stack.stack : NULL;
        run->place.specification = options->specification;
        run->place.program = run->command[0];
        run->place.has_script = (run->output.is_captured || is_benchmark) &&
                                script_find(run->command, path ?: "", &run->place.script);
        run->place.component = options->failed.component;
        if ((run->output.is_captured || is_benchmark) && !run->place.has_script && !options->component_version &&
            !script_is_interpreter(run->command[0]) && script_find_program(run->command[0], path ?: "", program))
                program_version_begin(&run->version, program);
        if (is_benchmark)
                prepare_benchmark(run);
        if (options->batch.place)
                memcpy(run->plan.batch, options->batch.place->batch, sizeof(run->plan.batch));
        return options->batch.place ? 0 : id_make_result(clock_realtime_ns() / NS_PER_MS, run->plan.batch);
}

static int prepare(RunJob *run) {
        const RunOptions *options = run->options;
        int r;

        job_info_find_launcher(&run->launch);
        for (size_t i = 0; i < run->launch.n_ignored && run->options->verbose; i++)
                message_print("ignoring $%s: invalid value", run->launch.ignored[i]);

        r = job_info_fill(&run->info, &options->job, &run->launch, run->command);
        run->info.pid = (int32_t)getpid();
        return r;
}

/* First step: the command's cgroup must contain nothing else, and perfd must know it from the start on. */
static void enclose(RunJob *run) {
        isolation_enter(&run->isolated, run->info.id, (Isolation)job_isolation_find(run->options->isolation),
                        &run->limits, limits_are_set(&run->limits) ? LIMITED_TIMEOUT_NS : ISOLATION_TIMEOUT_NS);
        run->own_cpu = own_cpu_since(&(ClientCpu){});
        run->info.isolation = run->isolated.kind;
        limits_apply(&run->limits, run->isolated.kind, run->isolated.text);
        if (run->options->verbose && run->isolated.text[0])
                message_print("isolation: %s", run->isolated.text);
}

/* Returns true if the job has a cgroup of its own. */
static bool has_group(const RunJob *run) {
        return run->isolated.kind == ISOLATION_SCOPE || run->isolated.kind == ISOLATION_CGROUP;
}

static int begin_job(RunJob *run) {
        run->announcement.info = &run->info;
        run->announcement.courier = &run->courier;
        run->announcement.sample_ns = run->options->job.interval_ns;
        run->announcement.is_id_given = run->options->job.id || !run->launch.job[0];
        run->announcement.has_group = has_group(run);
        run->announcement.client_cpu = own_cpu_since(&run->own_cpu);
        run->own_cpu = own_cpu_since(&(ClientCpu){});
        return announcement_begin(&run->announcement);
}

/* Marks the runs of MLflow that the command opens. */
static int set_mlflow_context(const RunJob *run) {
        scoped(buffer_deinit) Buffer context = {};
        int r;

        mlflow_write_context(&context, getenv("MLFLOW_RUN_CONTEXT"), run->info.id, run->info.rank);
        r = buffer_error(&context);
        return r == 0 && setenv("MLFLOW_RUN_CONTEXT", context.text, 1) < 0 ? -errno : r;
}

/* Exports the job, the job of Slurm that it is in, and the socket to the command. */
static int set_environment(const RunJob *run) {
        if (setenv("PERFD_JOB", run->info.id, 1) < 0 || setenv("PERFD_JOB_SLURM", own_job_slurm() ?: "", 1) < 0 ||
            setenv("PERFD_SOCKET", run->courier.path, 1) < 0 ||
            (run->options->job.gpus && (setenv("CUDA_VISIBLE_DEVICES", run->options->job.gpus, 1) < 0 ||
                                        setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) < 0)))
                return -errno;
        return mlflow_is_wanted(run->options->end.mlflow) ? set_mlflow_context(run) : 0;
}

/* For a script without its interpreter, execve(2) reports that the script does not exist. */
static void explain_exec(const RunJob *run, int error) {
        const char *file = run->command[0], *interpreter = run->place.has_script ? run->place.script.interpreter : "";

        if (error == ENOENT && interpreter[0] == '/' && access(file, F_OK) == 0 && access(interpreter, F_OK) < 0)
                message_print("%s: interpreter %s not found", file, interpreter);
        else
                child_print_exec_error(file, error);
}

static void run_command(RunJob *run, ChildSignals *signals, RunFacts *ret) {
        const RunOptions *options = run->options;
        bool waits = options->wait;
        ChildPlan plan = {
                .capture = run->output.is_captured ? &run->output.capture : NULL,
                .error = wants_error(run) ? &run->output.error : NULL,
                .announcement = &run->announcement,
                .signals = signals,
                .adopts = run->isolated.kind != ISOLATION_NONE || waits,
                .adds_up = run->isolated.kind == ISOLATION_SUBREAPER,
                .waits = waits,
        };
        uint64_t begin_ns = clock_boottime_ns();
        int r;

        *ret = (RunFacts){ .error = plan.error, .begin_realtime_ns = clock_realtime_ns() };
        capture_clear(&run->output.capture);
        output_tail_clear(&run->output.error);
        r = child_run(run->command, &plan, &run->ends.last);
        if (r < 0) {
                child_print_exec_error(run->command[0], -r);
                run->ends.last = (ChildEnd){ .status = 126, .exec_error = -r };
        } else if (run->ends.last.exec_error)
                explain_exec(run, run->ends.last.exec_error);

        ret->wall_seconds = (double)(clock_boottime_ns() - begin_ns) / 1e9;
        ret->end_realtime_ns = clock_realtime_ns();
        ret->has_rusage = !run->ends.last.exec_error;
        ret->rusage = run->ends.last.rusage;
}

/* A command that was killed does not say why. */
static uint64_t count_kills(RunJob *run) {
        bool is_asked = has_group(run) && (run->ends.last.status != 0 || run->limits.memory_bytes > 0);
        uint64_t n_all = is_asked ? limits_count_kills() : 0, n = n_all - run->ends.n_killed;
        char processes[32];

        if (n_all <= run->ends.n_killed)
                return 0;
        run->ends.n_killed = n_all;
        (void)snprintf(processes, sizeof(processes), "%ju process%s", (uintmax_t)n, n == 1 ? "" : "es");
        if (run->limits.memory_bytes > 0)
                message_print("the kernel killed %s of the command: the job exceeded its memory limit of %ju bytes",
                              processes, (uintmax_t)run->limits.memory_bytes);
        else
                message_print("the kernel killed %s of the command: out of memory", processes);
        return n;
}

/* The job ends as the first run did that failed. */
static void add_end(RunJob *run, const RunFacts *facts) {
        JobEnd *end = &run->ends.all;

        end->has_exit_status = true;
        end->has_rusage |= facts->has_rusage;
        end->is_rusage_partial |= run->ends.last.is_rusage_partial;
        child_add_rusage(&end->rusage, &facts->rusage);
        if (end->exit_status == 0) {
                end->exit_status = run->ends.last.status;
                end->signal = run->ends.last.signal;
        }
        end->realtime_ms = facts->end_realtime_ns / NS_PER_MS;
}

/* Copies the last line that is not empty. */
static void put_last_words(const OutputTail *tail, char ret[static RUN_LAST_WORDS_MAX]) {
        scoped(buffer_deinit) Buffer text = {};
        char *line, *rest;
        bool is_cut;

        output_tail_text(tail, &text, &is_cut);
        rest = buffer_error(&text) == 0 ? text.text : NULL;
        while (rest && (line = strsep(&rest, "\n")))
                if (line[0])
                        utf8_copy(ret, RUN_LAST_WORDS_MAX, line);
}

/* Tells the caller what the only run measured. */
static void put_measured(const RunJob *run, const RunFacts *facts, RunMeasured *ret) {
        const Summary *summary = &run->series.summary;

        *ret = (RunMeasured){ .is_there = facts->has_rusage, .has_job = run->is_ended,
                              .exec_error = run->ends.last.exec_error,
                              .n_left = child_count_left(&run->ends.last), .wall_seconds = facts->wall_seconds,
                              .rusage = facts->rusage };
        put_last_words(&run->output.error, ret->last_words);
        for (size_t i = 0; i < summary->n; i++) {
                const SummarySeries *series = &summary->series[i];
                RunResultNumber *number = &ret->numbers[ret->n_numbers];

                if (run->plan.benchmark && strcmp(series->component, run->benchmark.component) == 0)
                        continue; /* made of the facts */
                (void)snprintf(number->name, sizeof(number->name), "%s %s", series->name, series->key);
                for (size_t k = 0; k < series->n; k++)
                        number->value += series->values[k] / (double)series->n;
                ret->n_numbers++;
        }
}

/* Warm-ups are runs like any, of which nothing is kept but their end. */
static int run_all(RunJob *run) {
        uint64_t n_warmups = run->options->batch.warmup,
                 index = run->options->batch.place ? run->options->batch.place->index : 0,
                 n = n_warmups + (run->options->batch.repeat > 0 ? run->options->batch.repeat : 1);
        ChildSignals signals = {};
        bool is_last = false;
        int r = 0;

        for (uint64_t i = 0; i < n && !is_last && r == 0; i++) {
                RunFacts facts;

                run_command(run, &signals, &facts);
                facts.n_oom_kills = count_kills(run);
                add_end(run, &facts);
                is_last = i + 1 == n || run->ends.last.is_told || run->ends.last.exec_error;
                if (i < n_warmups && !is_last)
                        continue;
                run->series.n_runs += i >= n_warmups;
                run->series.n_failed += i >= n_warmups && run->ends.last.status != 0;
                r = process_run(run, &facts, index + i - n_warmups, i >= n_warmups, is_last);
                if (run->options->batch.measured)
                        put_measured(run, &facts, run->options->batch.measured);
                show_progress(run, is_last ? 0 : n - i - 1);
        }
        return r;
}

static void print_report(const GlobalOptions *global, const char *job) {
        scoped(api_query_deinit) ApiQuery query = {};

        if (api_query_open_job(&query, global, job, "") == EXIT_DONE)
                (void)report_print_job(global, query.answer, false, STDERR_FILENO);
}

static void execute_at_end(const char *command) {
        int status = system(command);

        if (status < 0)
                message_print("cannot run the command of --at-end: %s", error_text(errno));
        else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                message_print("the command of --at-end exited with status %d", WEXITSTATUS(status));
        else if (WIFSIGNALED(status))
                message_print("signal %d terminated the command of --at-end", WTERMSIG(status));
}

static void report_left(size_t n) {
        if (n == 1)
                message_print(
                        "1 process of the command is still running; its further usage is not counted (see --wait)");
        if (n > 1)
                message_print("%zu processes of the command are still running; their further usage is not counted "
                              "(see --wait)",
                              n);
}

static void print_end(const RunJob *run) {
        char duration[TEXT_MAX];

        text_duration(clock_boottime_ns() - run->announcement.begin_ns, duration);
        message_print("job %s: exit %d after %s; details: perfctl report %s", run->info.id, run->ends.all.exit_status,
                      duration, run->info.id);
}

/* A gate that asks for verdicts fails without them. */
static int judge(const RunJob *run, const GlobalOptions *global, const KpiGate *gate) {
        int r = run->is_ended ? kpi_judge_job(global, gate, run->info.id, STDERR_FILENO) : EXIT_FAILED;

        return r == EXIT_FAILED || r == EXIT_UNREACHABLE ? kpi_gate_status(gate, &(KpiTally){}) : r;
}

/* Without the end, perfd has no report, and the metrics of the job are not final. Returns the status of the gate. */
static int finish(const RunJob *run, const GlobalOptions *global) {
        const RunOptions *options = run->options;

        if (options->end.report && run->is_ended)
                print_report(global, run->info.id);
        if (options->end.at_end && run->is_ended)
                execute_at_end(options->end.at_end);
        if ((options->end.report || options->end.at_end || options->kpis.judge) && !run->is_ended)
                message_print("perfd has not stored the end of the job: --%s is ignored",
                              options->end.report ? "report" : options->end.at_end ? "at-end" : "judge");
        return options->kpis.judge ? judge(run, global, &options->kpis.gate) : EXIT_DONE;
}

/* Logs the ended job in MLflow, outside its control group. */
static void send_to_mlflow(RunJob *run, const GlobalOptions *global) {
        const char *path = getenv("PATH");
        Script script = {};

        if (!mlflow_is_wanted(run->options->end.mlflow) || !run->announcement.is_begun)
                return;
        isolation_leave(&run->isolated, run->is_ended);
        (void)script_find(run->command, path ?: "", &script);
        mlflow_send(global, mlflow_find_python(run->command[0], script.interpreter), run->options->spool,
                    run->info.id);
}

/* Trouble with perfd is reported, and never prevents the command from running. */
int run_job(const CommandLine *line, const RunOptions *options, char *const *command) {
        scoped(run_job_deinit) RunJob run = { .options = options, .command = command, .version = PROGRAM_VERSION_NONE };
        char error[LIMITS_ERROR_MAX];
        ExportFormat format;
        int r, status;

        announcement_init(&run.announcement);
        isolation_init(&run.isolated);
        deliver_courier_init(&run.courier, line->global.socket, 0);
        if (options->limits && !limits_parse(options->limits, &run.limits, error))
                return command_refuse(line->command->name, "--limits %s", error);
        if ((options->batch.warmup > 0 || options->batch.output) && options->batch.repeat == 0)
                return command_refuse(line->command->name, "--%s requires --repeat",
                                      options->batch.output ? "output" : "warmup");
        if (options->batch.output && !summary_find_format(options->batch.output, &format))
                return command_refuse(line->command->name,
                                      "--output expects a file whose name ends in " EXPORT_ENDINGS ", not '%s'",
                                      options->batch.output);
        r = run_stack_read(options->stack, command[0], &run.stack);
        if (r != EXIT_DONE)
                return r;
        r = prepare(&run);
        if (r == 0)
                r = prepare_measuring(&run);
        if (r == 0) {
                enclose(&run);
                r = begin_job(&run);
        }
        if (r == 0)
                r = set_environment(&run);
        if (r < 0)
                message_print("cannot begin a job: %s; the job is not recorded", error_text(-r));
        else if (run.announcement.is_begin_known && options->verbose)
                message_print("job %s: begun", run.info.id);
        r = run_all(&run);
        if (r < 0)
                message_print("cannot report the end of the job: %s", error_text(-r));
        else if (!run.announcement.is_begun && options->verbose)
                message_print("job %s: not recorded, perfd could not be reached", run.info.id);
        else if (run.is_ended && (!options->quiet || options->verbose))
                print_end(&run);
        if (run.announcement.is_begun)
                report_left(child_count_left(&run.ends.last));

        r = summarise(&run, &line->global);
        status = finish(&run, &line->global);
        send_to_mlflow(&run, &line->global);
        if (run.ends.all.exit_status != 0)
                return run.ends.all.exit_status;
        return r != EXIT_DONE ? r : status == EXIT_REGRESSED || status == EXIT_NO_VERDICT ? status : EXIT_DONE;
}
