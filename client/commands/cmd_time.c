/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/cli/message.h"
#include "client/commands/mark.h"
#include "client/commands/perfctl.h"
#include "client/run/child.h"
#include "util/clock.h"

typedef struct Timed {
        const char *name;
        char *const *command;
        Courier courier;
        bool is_marked;   /* or may be: perfd has the request */
        MarkResult begin; /* whose phase it is, and what came before */
        bool is_inherited; /* that is what $PERFD_JOB says; perfd did not */
} Timed;

static void timed_deinit(Timed *timed) {
        courier_deinit(&timed->courier);
}

static void mark_begin(Timed *timed, const Options *options) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        JobRef job;
        int r;

        if (!mark_job_find(options, &job))
                return;

        r = mark_send(&timed->courier, &job, timed->name, NAN, &timed->begin, &delivery, reason);
        if (r == 0) {
                timed->is_marked = true;
                if (timed->begin.remark[0])
                        say("%s", timed->begin.remark);
                return;
        }

        timed->is_marked = r > 0 && mark_may_be_taken(&timed->courier, &delivery);
        if (timed->is_marked) {
                timed->begin = (MarkResult){};
                strcpy(timed->begin.job, job.id);
                timed->is_inherited = job.is_inherited;
                say("perfd does not answer: going on without waiting for it");
        } else
                say("%s. Running '%s' without marking it", r < 0 ? strerrordesc_np(-r) : reason, timed->command[0]);
}

/* The phase before goes on, under its name. */
static void mark_end(Timed *timed, double wall_seconds) {
        char reason[DELIVERY_TEXT_MAX];
        MarkResult end;
        Delivery delivery;
        JobRef job;
        int r;

        if (!timed->is_marked)
                return;

        job = (JobRef){ .id = timed->begin.job, .is_inherited = timed->is_inherited };
        r = mark_send(&timed->courier, &job, timed->begin.previous, wall_seconds, &end, &delivery, reason);
        if (r != 0)
                say("The end of phase '%s' is not marked: %s", timed->name, r < 0 ? strerrordesc_np(-r) : reason);
        else if (strcmp(end.previous, timed->name) != 0)
                say("Phase '%s' was over before its command: its seconds stand at '%s', which was marked since", timed->name, end.previous);
}

int cmd_time(const Options *options) {
        scoped(timed_deinit) Timed timed = { .name = options->arguments[0], .command = options->arguments + 1 };
        uint64_t begin_ns;
        ChildEnd end;
        int r;

        courier_init(&timed.courier, options->socket, MARK_TIMEOUT_NS);
        if (options->n_before_dashes != 1) {
                say("Expected one NAME before '--' and the command after it: perfctl time NAME -- COMMAND [ARGUMENT]…");
                return EXIT_USAGE;
        }
        if (!mark_name_check(timed.name))
                return EXIT_USAGE;

        mark_begin(&timed, options);
        begin_ns = clock_boottime_ns();
        r = child_run(timed.command, &(ChildPlan){}, &end);
        if (r < 0) {
                say("Cannot run '%s': %s", timed.command[0], strerrordesc_np(-r));
                end = (ChildEnd){ .status = 126, .exec_error = -r };
        } else if (end.exec_error)
                say("Cannot run '%s': %s", timed.command[0], strerrordesc_np(end.exec_error));

        mark_end(&timed, (double)(clock_boottime_ns() - begin_ns) / (double)NS_PER_S);
        return end.status;
}
