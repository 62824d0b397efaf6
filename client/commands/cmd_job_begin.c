/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/cli/message.h"
#include "client/commands/perfctl.h"
#include "client/deliver/deliver.h"
#include "client/run/job_info.h"

/* What became of a begin or an end. done: "begun", "ended". */
static int conclude(const Options *options, const Courier *courier, const Delivery *delivery, int r, const char *done) {
        scoped(buffer_deinit) Buffer out = {};
        char reason[DELIVERY_TEXT_MAX];
        bool is_duplicate;

        if (r != 0) {
                delivery_explain(delivery, courier, reason);
                say("%s", r < 0 ? strerrordesc_np(-r) : reason);
                return r > 0 && delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
        }

        is_duplicate = delivery->reply.status == STATUS_DUPLICATE;
        if (options_has(options, OPTION_JSON))
                buffer_printf(&out, "{\"job\":\"%s\",\"%s\":true,\"duplicate\":%s}\n", options->arguments[0], done,
                              is_duplicate ? "true" : "false");
        else
                buffer_printf(&out, "%s %s%s\n", options->arguments[0], is_duplicate ? "had already " : "has ", done);
        return print_out(&out);
}

static int check_id(const char *id) {
        if (name_is_valid(id, JOB_ID_MAX - 1))
                return 0;

        say("'%.80s' is no job's id: expected 1 to 128 characters of [A-Za-z0-9_.:-]", id);
        return EXIT_USAGE;
}

int cmd_job_begin(const Options *options) {
        scoped(courier_deinit) Courier courier;
        scoped(job_info_deinit) JobInfo info = {};
        Options with_job = *options;
        Launch launch;
        Delivery delivery = {};
        int r;

        courier_init(&courier, options->socket, options->timeout_ns);
        r = check_id(options->arguments[0]);
        if (r != 0)
                return r;

        with_job.job = options->arguments[0];
        launch_find(&launch);
        r = job_info_fill(&info, &with_job, &launch, NULL);
        if (r == 0)
                r = deliver_begin(&courier, &(JobBegin){ .info = &info, .has_uid = options_has(options, OPTION_UID) }, &delivery);

        return conclude(options, &courier, &delivery, r, "begun");
}

int cmd_job_end(const Options *options) {
        scoped(courier_deinit) Courier courier;
        Batch batch = { .ended_job = options->arguments[0] };
        Delivery delivery;
        int r;

        courier_init(&courier, options->socket, options->timeout_ns);
        r = check_id(batch.ended_job);
        if (r != 0)
                return r;

        batch.end.has_exit_status = options_has(options, OPTION_EXIT_STATUS);
        batch.end.exit_status = options->exit_status;
        r = deliver(&courier, &batch, &delivery);
        return conclude(options, &courier, &delivery, r, "ended");
}
