#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/capture.h"
#include "client/child.h"
#include "client/deliver.h"
#include "client/enclosure.h"
#include "client/id.h"
#include "client/job.h"
#include "client/json.h"
#include "client/limits.h"
#include "client/perfctl.h"
#include "client/say.h"
#include "client/spec_run.h"
#include "client/spool.h"
#include "util/clock.h"

/* What perfd may delay a job by, whatever state it is in. */
#define ENCLOSURE_TIMEOUT_NS (200 * NS_PER_MS)
#define BEGIN_TIMEOUT_NS (200 * NS_PER_MS)
#define END_TIMEOUT_NS (500 * NS_PER_MS)
#define FLUSH_TIMEOUT_NS (200 * NS_PER_MS)

typedef struct Run {
        const Options *options;
        Launch launch;
        JobInfo info;
        Limits limits;
        Enclosed enclosed;
        Courier courier;
        bool is_begun; /* or may be: perfd has the request */
        bool is_ended; /* perfd has its end */
        bool is_verbose;
        Capture capture;
        ChildEnd end;
        uint64_t end_realtime_ms;
} Run;

/* A group that perfd has not read at the end is left for it to read. */
static void run_deinit(Run *run) {
        enclosure_leave(&run->enclosed, run->is_ended || !run->is_begun);
        job_info_deinit(&run->info);
        courier_deinit(&run->courier);
        capture_deinit(&run->capture);
}

static int begin_once(Run *run, Delivery *delivery) {
        bool has_group = run->enclosed.kind == ENCLOSURE_SCOPE || run->enclosed.kind == ENCLOSURE_CGROUP;
        JobBegin job_begin = { .info = &run->info, .member_pid = has_group ? run->info.pid : 0, .is_fresh = has_group };

        courier_allow(&run->courier, BEGIN_TIMEOUT_NS);
        run->courier.is_patient = false;
        return deliver_begin(&run->courier, &job_begin, delivery);
}

/* A task may run one command after the other; then its id is that of the first. */
static bool is_used(const Run *run, const Delivery *delivery, int r) {
        if (run->options->job || !run->launch.job[0])
                return false;

        return (r == 0 && delivery->reply.status == STATUS_DUPLICATE) ||
               (r == DELIVERY_REFUSED && delivery->reply.status == STATUS_INVALID);
}

static int extend_id(JobInfo *info) {
        char id[JOB_ID_TEXT_MAX];
        size_t n = strlen(info->id);
        int r;

        r = job_id_make(clock_realtime_ns() / NS_PER_MS, id);
        if (r == 0)
                snprintf(info->id + n, sizeof(info->id) - n, ".%s", id);
        return r;
}

static int begin(Run *run) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        int r;

        r = begin_once(run, &delivery);
        if (is_used(run, &delivery, r)) {
                r = extend_id(&run->info);
                if (r == 0)
                        r = begin_once(run, &delivery);
        }
        if (r == 0) {
                run->is_begun = true;
                return 0;
        }
        if (r < 0)
                return r;

        /* In its socket already: it will take it up before anything that is sent later. */
        run->is_begun = delivery.error == -ETIMEDOUT && wire_is_connected(&run->courier.wire);
        delivery_explain(&delivery, &run->courier, reason);
        if (run->is_begun)
                say("perfd does not answer: going on without waiting for it");
        else
                say("%s. Running without it", reason);
        return 0;
}

static void fill_end(const ChildEnd *from, JobEnd *ret) {
        const struct rusage *rusage = &from->rusage;

        *ret = (JobEnd){ .has_exit_status = true, .exit_status = from->status, .signal = from->signal, .has_rusage = !from->exec_error };
        ret->rusage.ru_utime = (double)rusage->ru_utime.tv_sec + (double)rusage->ru_utime.tv_usec / 1e6;
        ret->rusage.ru_stime = (double)rusage->ru_stime.tv_sec + (double)rusage->ru_stime.tv_usec / 1e6;
#define X(field) ret->rusage.field = rusage->field;
        RUSAGE_FIELDS(X)
#undef X
}

/* --- indicators ----------------------------------------------------------------------------------- */

/* The documents that are indicators, as submissions; the others are spoken of. */
static int make_items(const Run *run, const Value *const *documents, size_t n, Submission **ret, size_t *ret_n) {
        Submission *items = calloc(n, sizeof(*items));
        Complaint complaint;
        size_t n_items = 0;
        int r;

        if (!items)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                Submission *item = &items[n_items];

                *item = (Submission){ .job = run->info.id, .time_ms = run->end_realtime_ms };
                if (indicator_from_value(documents[i], STRING_MAX_BYTES, &item->indicator, &complaint) != 0) {
                        say("An indicator in the output was not submitted: %s%s%s", complaint.path, complaint.path[0] ? ": " : "",
                            complaint.text);
                        continue;
                }
                r = result_id_make(item->time_ms, item->id);
                if (r < 0) {
                        free(items);
                        return r;
                }
                n_items++;
        }

        *ret = items;
        *ret_n = n_items;
        return 0;
}

static int find_items(const Run *run, Arena *arena, Submission **ret, size_t *ret_n) {
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        JsonError error;
        size_t n;
        int r;

        r = arena_init(arena, json_arena_size(run->capture.text.n));
        if (r == 0)
                r = capture_find(&run->capture, arena, documents, &n, &error);
        if (r < 0)
                return r;

        if (n == 0 && run->options->indicator == INDICATOR_YES) {
                if (run->capture.is_too_long)
                        say("No indicator was submitted: the output is longer than %u KiB", CAPTURE_BYTES_MAX / 1024);
                else if (error.line > 0)
                        say("No indicator was submitted: output:%u:%u: %s", error.line, error.column, error.text);
                else
                        say("No indicator was submitted: the output has no JSON object with @result");
        }

        return n == 0 ? 0 : make_items(run, documents, n, ret, ret_n);
}

/* --- the end -------------------------------------------------------------------------------------- */

static void keep(const Run *run, const Batch *batch, const Delivery *delivery, const char *reason) {
        Batch rest = *batch;
        char directory[PATH_MAX] = "", name[SPOOL_NAME_MAX];
        int r;

        rest.items += delivery->n_acked;
        rest.n_items -= delivery->n_acked;
        r = spool_find_directory(run->options->spool, directory);
        if (r == 0)
                r = spool_put(directory, &rest, run->end_realtime_ms, name);
        if (r < 0)
                say("%s. The job's end and results are lost: they cannot be kept in %s: %s", reason,
                    directory[0] ? directory : "a spool", strerrordesc_np(-r));
        else
                say("%s. The job's end and results are kept in %s/%s", reason, directory, name);
}

static int deliver_end(Run *run, const Batch *batch) {
        char reason[DELIVERY_TEXT_MAX], directory[PATH_MAX];
        Delivery delivery;
        Flush flush;
        int r;

        if (batch->n_items == 0 && !batch->ended_job)
                return 0;

        courier_allow(&run->courier, END_TIMEOUT_NS);
        run->courier.is_patient = run->is_begun; /* where it was away before, it is hardly just being restarted */
        r = deliver(&run->courier, batch, &delivery);
        if (r < 0)
                return r;
        if (r > 0) {
                delivery_explain(&delivery, &run->courier, reason);
                if (r == DELIVERY_AWAY)
                        keep(run, batch, &delivery, reason);
                else
                        say("The job's end or results were not taken: %s", reason);
                return 0;
        }

        run->is_ended = batch->ended_job != NULL;
        if (run->is_verbose && delivery.n_stored > 0)
                say("%zu indicators stored", delivery.n_stored);
        courier_allow(&run->courier, FLUSH_TIMEOUT_NS);
        if (spool_find_directory(run->options->spool, directory) == 0)
                (void)deliver_spool(&run->courier, directory, &flush);
        return 0;
}

static int end(Run *run) {
        scoped(arena_deinit) Arena arena = {};
        scoped(freep) Submission *items = NULL;
        Batch batch = {};
        int r;

        r = find_items(run, &arena, &items, &batch.n_items);
        if (r < 0)
                return r;

        batch.items = items;
        if (run->is_begun) {
                batch.ended_job = run->info.id;
                fill_end(&run->end, &batch.end);
        }

        return deliver_end(run, &batch);
}

/* --- all of it ------------------------------------------------------------------------------------ */

static bool wants_capture(const Options *options) {
        switch (options->indicator) {
        case INDICATOR_AUTO:
                /* A program on a terminal behaves differently from one on a pipe. */
                return isatty(STDOUT_FILENO) == 0;
        case INDICATOR_YES:
                return true;
        case INDICATOR_NO:
                return false;
        }

        return false;
}

static int prepare(Run *run) {
        const Options *options = run->options;
        int r;

        launch_find(&run->launch);
        for (size_t i = 0; i < run->launch.n_ignored && run->is_verbose; i++)
                say("Ignoring $%s: it makes no sense here", run->launch.ignored[i]);

        r = job_info_fill(&run->info, options, &run->launch, options->arguments);
        run->info.pid = (int32_t)getpid();
        return r;
}

/* First of all: what the command will be in is to have nothing else in it, and perfd is to know it from the begin on. */
static void enclose(Run *run) {
        enclosure_enter(&run->enclosed, run->info.id, run->options->enclosure, ENCLOSURE_TIMEOUT_NS);
        run->info.enclosure = run->enclosed.kind;
        limits_apply(&run->limits, run->enclosed.kind);
        if (run->is_verbose && run->enclosed.text[0])
                say("Running %s", run->enclosed.text);
}

/* So that what the command starts finds the job, and the same perfd. */
static int set_environment(const Run *run) {
        if (setenv("PERFD_JOB", run->info.id, 1) < 0 || setenv("PERFD_SOCKET", run->courier.path, 1) < 0)
                return -errno;
        return 0;
}

static void run_command(Run *run) {
        const Options *options = run->options;
        bool waits = options_has(options, OPTION_WAIT);
        ChildPlan plan = {
                .capture = wants_capture(options) ? &run->capture : NULL,
                .adopts = run->enclosed.kind != ENCLOSURE_NONE || waits,
                .adds_up = run->enclosed.kind == ENCLOSURE_SUBREAPER,
                .waits = waits,
        };
        int r;

        r = child_run(options->arguments, &plan, &run->end);
        if (r < 0) {
                say("Cannot run '%s': %s", options->arguments[0], strerrordesc_np(-r));
                run->end = (ChildEnd){ .status = 126, .exec_error = -r };
        } else if (run->end.exec_error)
                say("Cannot run '%s': %s", options->arguments[0], strerrordesc_np(run->end.exec_error));
}

/* At the very end: what only takes a moment longer than the command is not worth a word. */
static void speak_of_left(const Run *run) {
        size_t n = child_count_left(&run->end);

        if (n == 1)
                say("A process that the command started goes on; what it uses from now on is not counted (--wait waits for it)");
        if (n > 1)
                say("%zu processes that the command started go on; what they use from now on is not counted (--wait waits for them)", n);
}

/* Nothing of ours may be the command's undoing: trouble is spoken of, and it runs all the same. */
int cmd_run(const Options *options) {
        scoped(run_deinit) Run run = { .options = options, .is_verbose = options_has(options, OPTION_VERBOSE) };
        int r;

        enclosure_init(&run.enclosed);
        courier_init(&run.courier, options->socket, BEGIN_TIMEOUT_NS);
        if (options->spec)
                return spec_run(options);
        if (options->limits && !limits_parse(options->limits, &run.limits)) {
                say("--limits expects " LIMITS_EXPECTED);
                return EXIT_USAGE;
        }
        r = prepare(&run);
        if (r == 0) {
                enclose(&run);
                r = begin(&run);
        }
        if (r == 0)
                r = set_environment(&run);
        if (r < 0)
                say("Cannot begin a job: %s. Running without perfd", strerrordesc_np(-r));
        else if (run.is_begun && run.is_verbose)
                say("Job %s has begun", run.info.id);

        run_command(&run);
        run.end_realtime_ms = clock_realtime_ns() / NS_PER_MS;
        r = end(&run);
        if (r < 0)
                say("Cannot tell perfd of the job's end: %s", strerrordesc_np(-r));
        else if (run.is_begun && (run.is_verbose || isatty(STDERR_FILENO) == 1))
                say("Job %s has ended; 'perfctl report %s' shows how it went", run.info.id, run.info.id);
        if (run.is_begun)
                speak_of_left(&run);

        return run.end.status;
}
