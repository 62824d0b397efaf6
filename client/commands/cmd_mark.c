/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "client/cli/message.h"
#include "client/commands/mark.h"
#include "client/commands/perfctl.h"
#include "util/json.h"

static int print_result(const MarkResult *result, const char *name) {
        scoped(buffer_deinit) Buffer out = {};
        Json json;

        json_init(&json, &out);
        json_object_begin(&json);
        json_put_string(&json, "job", result->job);
        json_put_string(&json, "phase", name);
        json_put_string(&json, "previous", result->previous);
        json_object_end(&json);
        buffer_putc(&out, '\n');
        return print_out(&out);
}

int cmd_mark(const Options *options) {
        scoped(courier_deinit) Courier courier;
        const char *name = options->arguments[0];
        char reason[DELIVERY_TEXT_MAX];
        MarkResult result;
        Delivery delivery;
        JobRef job;
        int r;

        courier_init(&courier, options->socket, MARK_TIMEOUT_NS);
        if (!mark_job_find(options, &job) || !mark_name_check(name))
                return EXIT_USAGE;

        r = mark_send(&courier, &job, name, NAN, &result, &delivery, reason);
        if (r == 0 && result.remark[0])
                say("%s", result.remark);
        if (r == 0) /* without a word: a script's output may be what it measured */
                return options_has(options, OPTION_JSON) ? print_result(&result, name) : EXIT_DONE;

        if (r < 0)
                say("%s", strerrordesc_np(-r));
        else if (mark_may_be_taken(&courier, &delivery))
                say("perfd does not answer: whether it has the mark is not known");
        else
                say("%s", reason);
        return r > 0 && delivery.error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
}
