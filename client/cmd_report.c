#include <errno.h>
#include <stdio.h>

#include "client/perfctl.h"
#include "client/question.h"
#include "client/report.h"
#include "client/say.h"
#include "model/indicator.h"

/* `job show` is the first part of `report`. */
static int print_job(const Options *options, const Value *job, bool is_report) {
        scoped(question_deinit) Question about_node = {};
        scoped(buffer_deinit) Buffer out = {};
        Screen screen;
        int r;

        /* Host name and clock are its; a report without them is still one. */
        r = question_init(&about_node, options);
        if (r == EXIT_DONE)
                (void)question_try(&about_node, "/api/v1/node");

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        if (is_report)
                report_write(&screen, job, about_node.answer);
        else
                report_write_head(&screen, job, about_node.answer);
        return print_out(&out);
}

static int show(const Options *options, bool is_report) {
        scoped(question_deinit) Question question = {};
        const char *id = options->arguments[0];
        char path[JOB_ID_MAX + 32];
        int r;

        if (!name_is_valid(id, JOB_ID_MAX - 1)) {
                say("'%.80s' is no job's id: expected 1 to 128 characters of [A-Za-z0-9_.:-]", id);
                return EXIT_USAGE;
        }

        snprintf(path, sizeof(path), "/api/v1/jobs/%s", id);
        r = question_init(&question, options);
        if (r == EXIT_DONE)
                r = question_ask(&question, path);
        if (r != EXIT_DONE)
                return r;

        return options_has(options, OPTION_JSON) ? question_print_json(&question) : print_job(options, question.answer, is_report);
}

int cmd_report(const Options *options) {
        return show(options, true);
}

int cmd_job_show(const Options *options) {
        return show(options, false);
}
