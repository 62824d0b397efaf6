/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/commands/jobs/phase_mark.h"
#include "util/error_text.h"

typedef struct MarkOptions {
        const char *job;
        bool json;
} MarkOptions;

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
        char reason[DELIVERY_TEXT_MAX], id[JOB_ID_MAX];
        MarkResult result;
        Delivery delivery;
        JobRef job;
        int r;

        deliver_courier_init(&courier, line->global.socket, PHASE_MARK_TIMEOUT_NS);
        if (!phase_mark_check_name(name))
                return EXIT_USAGE;
        r = api_query_find_own_job(&line->global, options->job, id, &job);
        if (r != EXIT_DONE)
                return r;

        r = phase_mark_send(&courier, &job, name, NAN, &result, &delivery, reason);
        if (r == 0 && result.remark[0])
                message_print("%s", result.remark);
        if (r == 0) /* prints nothing: the output of a script may be what it measures */
                return options->json ? print_result(&result, name) : EXIT_DONE;

        if (r < 0)
                message_print("%s", error_text(-r));
        else if (phase_mark_may_be_taken(&courier, &delivery))
                message_print("perfd does not respond; the mark may not be recorded");
        else
                message_print("%s", reason);
        return delivery_failure_status(&delivery, r);
}

const Command cmd_mark = {
        .name = "mark",
        .arguments = "NAME",
        .summary = "Start a phase of the current job; ends the previous one",
        .help = "A phase has the same metrics as a job. The job is --job, else $PERFD_JOB, else the job whose "
                "control group this process is in. Takes at most 0.2 seconds (0.5 with --job), and prints nothing on "
                "success.",
        .examples = { "perfctl mark load", "perfctl mark --job train-17 train || true" },
        COMMAND_OPTION_ROWS(MarkOptions,
                OPTION_ROW_JOB(MarkOptions, job),
                OPTION_ROW_JSON(MarkOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = 1,
        .run = mark_run,
};
