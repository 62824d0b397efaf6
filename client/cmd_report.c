#include <errno.h>
#include <stdio.h>

#include "client/perfctl.h"
#include "client/question.h"
#include "client/report.h"
#include "client/say.h"
#include "model/indicator.h"

/* An older perfd does not say in its answer where the job ran. */
static const Value *ask_node(Question *question, const Value *job) {
        const Value *on = value_get(job, "on");

        if (on && on->type == VALUE_OBJECT)
                return on;

        return question_try(question, "/api/v1/node") == EXIT_DONE ? question->answer : NULL;
}

/* `job show` is the first part of `report`. */
static int print_job(const Options *options, const Value *job, bool is_report) {
        scoped(question_deinit) Question of_node = {}, of_results = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        JobResults results = {};
        Screen screen;

        /* A report without host name and clock, or without results, is still one. */
        if (question_init(&of_node, options) == EXIT_DONE)
                node = ask_node(&of_node, job);
        if (is_report && question_init(&of_results, options) == EXIT_DONE)
                job_results_ask(&of_results, job, &results);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        if (is_report)
                report_write(&screen, job, node, &results);
        else
                report_write_head(&screen, job, node);
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
