/* SPDX-License-Identifier: Apache-2.0 */
/* Starts phases of a job: `mark` starts the next one, and `time` one that is as long as a command. */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/cli/job_ref.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/run/child.h"
#include "util/clock.h"
#include "util/utf8.h"

/* Longest delay of a script, whatever state perfd is in. */
#define MARK_TIMEOUT_NS (200 * NS_PER_MS)

/* Whether it can name a phase; prints the reason if not. */
static bool check_name(const char *name) {
        if (*name && strlen(name) < PHASE_NAME_MAX && utf8_is_line(name))
                return true;

        message_print("invalid phase name '%.80s': expected 1 to %u bytes of UTF-8 without control characters", name, PHASE_NAME_MAX - 1);
        return false;
}

/* Once, and for MARK_TIMEOUT_NS at most. As deliver_mark(); ret_text: why not, when > 0. */
static int send_mark(Courier *courier, const JobRef *job, const char *name, double wall_seconds, MarkResult *ret, Delivery *ret_delivery,
              char ret_text[static DELIVERY_TEXT_MAX]) {
        int r;

        deliver_courier_deinit(courier); /* a connection of before may be one to a perfd that has been restarted */
        deliver_courier_set_timeout(courier, MARK_TIMEOUT_NS);
        courier->is_patient = false;
        r = deliver_mark(courier, job, name, wall_seconds, ret, ret_delivery);
        if (r > 0)
                delivery_explain(ret_delivery, courier, ret_text);
        return r;
}

/* Whether perfd may have recorded the mark: it did not answer in time, but the request is in its socket. */
static bool may_be_taken(const Courier *courier, const Delivery *delivery) {
        return delivery->error == -ETIMEDOUT && wire_is_connected(&courier->wire);
}

/* --- mark ----------------------------------------------------------------------------------------- */

typedef struct MarkOptions {
        const char *job;
        bool json;
} MarkOptions;

static const Option mark_options[] = {
        OPTION_ROW_JOB(MarkOptions, job),
        OPTION_ROW_JSON(MarkOptions, json),
        {},
};

static int print_result(const MarkResult *result, const char *name) {
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };

        json_object_begin(&json);
        json_put_string(&json, "job", result->job);
        json_put_string(&json, "phase", name);
        json_put_string(&json, "previous", result->previous);
        json_object_end(&json);
        buffer_putc(&out, '\n');
        return output_print(&out);
}

static int mark_run(const CommandLine *line) {
        const MarkOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        const char *name = line->arguments[0];
        char reason[DELIVERY_TEXT_MAX];
        MarkResult result;
        Delivery delivery;
        JobRef job;
        int r;

        deliver_courier_init(&courier, line->global.socket, MARK_TIMEOUT_NS);
        if (!job_ref_find(options->job, &job) || !check_name(name))
                return EXIT_USAGE;

        r = send_mark(&courier, &job, name, NAN, &result, &delivery, reason);
        if (r == 0 && result.remark[0])
                message_print("%s", result.remark);
        if (r == 0) /* prints nothing: the output of a script may be its measurements */
                return options->json ? print_result(&result, name) : EXIT_DONE;

        if (r < 0)
                message_print("%s", strerrordesc_np(-r));
        else if (may_be_taken(&courier, &delivery))
                message_print("perfd does not respond; the mark may not be recorded");
        else
                message_print("%s", reason);
        return r > 0 && delivery.error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
}

const Command cmd_mark = {
        .name = "mark",
        .arguments = "NAME",
        .summary = "Start a phase of the current job; ends the previous one",
        .help = "A phase has the same metrics as a job. The job is --job, else $PERFD_JOB, else the job whose control group this "
                "process is in. Takes at most 0.2 seconds, and prints nothing on success.",
        .examples = { "perfctl mark load", "perfctl mark --job train-17 train || true" },
        COMMAND_OPTIONS(MarkOptions, mark_options),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = mark_run,
};

/* --- time ----------------------------------------------------------------------------------------- */

typedef struct TimeOptions {
        const char *job;
} TimeOptions;

static const Option time_options[] = {
        OPTION_ROW_JOB(TimeOptions, job),
        {},
};

typedef struct Timed {
        const char *name;
        char *const *command;
        Courier courier;
        bool is_marked;   /* or may be: perfd has the request */
        MarkResult begin; /* job of the phase, and the phase before */
        bool is_inherited; /* the job is from $PERFD_JOB, and perfd did not determine another */
} Timed;

static void timed_deinit(Timed *timed) {
        deliver_courier_deinit(&timed->courier);
}

static void mark_begin(Timed *timed, const char *given) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        JobRef job;
        int r;

        if (!job_ref_find(given, &job))
                return;

        r = send_mark(&timed->courier, &job, timed->name, NAN, &timed->begin, &delivery, reason);
        if (r == 0) {
                timed->is_marked = true;
                if (timed->begin.remark[0])
                        message_print("%s", timed->begin.remark);
                return;
        }

        timed->is_marked = r > 0 && may_be_taken(&timed->courier, &delivery);
        if (timed->is_marked) {
                timed->begin = (MarkResult){};
                strcpy(timed->begin.job, job.id);
                timed->is_inherited = job.is_inherited;
                message_print("perfd does not respond; continuing without waiting");
        } else
                message_print("%s; '%s' runs without a mark", r < 0 ? strerrordesc_np(-r) : reason, timed->command[0]);
}

/* The previous phase continues under its name. */
static void mark_end(Timed *timed, double wall_seconds) {
        char reason[DELIVERY_TEXT_MAX];
        MarkResult end;
        Delivery delivery;
        JobRef job;
        int r;

        if (!timed->is_marked)
                return;

        job = (JobRef){ .id = timed->begin.job, .is_inherited = timed->is_inherited };
        r = send_mark(&timed->courier, &job, timed->begin.previous, wall_seconds, &end, &delivery, reason);
        if (r != 0)
                message_print("the end of phase '%s' is not recorded: %s", timed->name, r < 0 ? strerrordesc_np(-r) : reason);
        else if (strcmp(end.previous, timed->name) != 0)
                message_print("phase '%s' ended before its command: the seconds are recorded for phase '%s', which was marked meanwhile",
                              timed->name, end.previous);
}

static int time_run(const CommandLine *line) {
        const TimeOptions *options = line->options;
        scoped(timed_deinit) Timed timed = { .name = line->arguments[0], .command = line->arguments + 1 };
        uint64_t begin_ns;
        ChildEnd end;
        int r;

        deliver_courier_init(&timed.courier, line->global.socket, MARK_TIMEOUT_NS);
        if (line->n_before_dashes != 1)
                return command_refuse(line->command->name, "expected NAME, '--' and a command; usage: perfctl time [OPTION]… %s",
                                      line->command->arguments);
        if (!check_name(timed.name))
                return EXIT_USAGE;

        mark_begin(&timed, options->job);
        begin_ns = clock_boottime_ns();
        r = child_run(timed.command, &(ChildPlan){}, &end);
        if (r < 0) {
                child_print_exec_error(timed.command[0], -r);
                end = (ChildEnd){ .status = 126, .exec_error = -r };
        } else if (end.exec_error)
                child_print_exec_error(timed.command[0], end.exec_error);

        mark_end(&timed, (double)(clock_boottime_ns() - begin_ns) / (double)NS_PER_S);
        return end.status;
}

const Command cmd_time = {
        .name = "time",
        .arguments = "NAME -- COMMAND [ARGUMENT]…",
        .summary = "Run a command as a phase of the current job",
        .help = "Marks NAME, runs the command, and marks the previous phase again with the seconds that the command took. perfctl "
                "exits as the command did. A perfd that is down, slow or without such a job delays the command by at most 0.2 "
                "seconds at each end.",
        .examples = { "perfctl time load -- ./load.sh data/", "perfctl time --job train-17 evaluate -- python3 eval.py" },
        COMMAND_OPTIONS(TimeOptions, time_options),
        .n_arguments_min = 2,
        .n_arguments_max = COMMAND_MANY,
        .runs_command = true,
        .run = time_run,
};
