/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/commands/commands.h"
#include "client/commands/jobs/phase_mark.h"
#include "client/run/child.h"
#include "util/clock.h"
#include "util/error_text.h"

typedef struct TimeOptions {
        const char *job;
} TimeOptions;

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

static void mark_begin(Timed *timed, const CommandLine *line, const char *given) {
        char reason[DELIVERY_TEXT_MAX], id[JOB_ID_MAX];
        Delivery delivery;
        JobRef job;
        int r;

        if (api_query_find_own_job(&line->global, given, id, &job) != EXIT_DONE)
                return;

        r = phase_mark_send(&timed->courier, &job, timed->name, NAN, &timed->begin, &delivery, reason);
        if (r == 0) {
                timed->is_marked = true;
                if (timed->begin.remark[0])
                        message_print("%s", timed->begin.remark);
                return;
        }

        timed->is_marked = r > 0 && phase_mark_may_be_taken(&timed->courier, &delivery);
        if (timed->is_marked) {
                timed->begin = (MarkResult){};
                strcpy(timed->begin.job, job.id);
                timed->is_inherited = job.is_inherited;
                message_print("perfd does not respond; continuing without waiting");
        } else
                message_print("%s; '%s' runs without a mark", r < 0 ? error_text(-r) : reason, timed->command[0]);
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
        r = phase_mark_send(&timed->courier, &job, timed->begin.previous, wall_seconds, &end, &delivery, reason);
        if (r != 0)
                message_print("the end of phase '%s' is not recorded: %s", timed->name,
                              r < 0 ? error_text(-r) : reason);
        else if (strcmp(end.previous, timed->name) != 0)
                message_print("phase '%s' ended before its command: the seconds are recorded for phase '%s', which "
                              "was marked meanwhile",
                              timed->name, end.previous);
}

static int time_run(const CommandLine *line) {
        const TimeOptions *options = line->options;
        scoped(timed_deinit) Timed timed = { .name = line->arguments[0], .command = line->arguments + 1 };
        uint64_t begin_ns;
        ChildEnd end;
        int r;

        deliver_courier_init(&timed.courier, line->global.socket, PHASE_MARK_TIMEOUT_NS);
        if (line->n_before_dashes != 1)
                return command_refuse(line->command->name,
                                      "expected NAME, '--' and a command; usage: perfctl time [OPTION]… %s",
                                      line->command->arguments);
        if (!phase_mark_check_name(timed.name))
                return EXIT_USAGE;

        mark_begin(&timed, line, options->job);
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
        .help = "Marks NAME, runs the command, and marks the previous phase again with the seconds that the command "
                "took. perfctl exits as the command did. A perfd that is down, slow or without such a job delays the "
                "command by at most 0.2 seconds at each end.",
        .examples = { "perfctl time load -- ./load.sh data/",
                      "perfctl time --job train-17 evaluate -- python3 eval.py" },
        COMMAND_OPTION_ROWS(TimeOptions,
                OPTION_ROW_JOB(TimeOptions, job)),
        .n_arguments_min = 2,
        .n_arguments_max = COMMAND_MANY,
        .runs_command = true,
        .run = time_run,
};
