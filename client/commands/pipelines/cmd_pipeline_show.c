/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "client/api/api_query.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/pipeline/drawing.h"
#include "client/pipeline/stored_stages.h"
#include "util/clock.h"

typedef struct PipelineShowOptions {
        uint64_t interval_ns;
        bool json, watch;
} PipelineShowOptions;

static const Option options_table[] = {
        OPTION_ROW_WATCH(PipelineShowOptions, watch),
        OPTION_ROW_INTERVAL(PipelineShowOptions, interval_ns),
        OPTION_ROW_JSON(PipelineShowOptions, json),
        {},
};

static void write_pipeline(const VerdictPipeline *pipeline, const char *job, Screen *screen) {
        scoped(buffer_deinit) Buffer sentence = {};

        screen_text(screen, job);
        buffer_printf(screen->out, ", pipeline %u\n", pipeline->stages[0].pipeline);
        verdict_write_headline(pipeline, &sentence);
        buffer_putc(&sentence, ' ');
        verdict_write_sentence(pipeline, &sentence);
        screen_wrap(screen, sentence.text ?: "", 0);
        buffer_putc(screen->out, '\n');
        drawing_write(pipeline, screen);
}

/* Answers of perfd about the job. */
typedef struct PipelineAnswers {
        const Value *job, *pipeline;
} PipelineAnswers;

/* Writes each pipeline of a job. json: NULL for text. */
static int write_pipelines(const PipelineAnswers *answers, Screen *screen, Json *json) {
        scoped(stage_set_deinit) StageSet stages = {};
        const char *job = value_get_string(answers->job, "id") ?: "";
        VerdictPipeline pipeline;
        size_t at = 0;
        int r;

        r = stored_stages_read(answers->pipeline, &stages);
        if (r < 0)
                return r;
        stored_stages_join_job(&stages, answers->job);
        if (stages.n == 0 && !json)
                message_print("job %s has no statistics of a data pipeline; 'perfctl pipeline submit' sends them", job);
        while (verdict_next(&stages, 0, &at, &pipeline)) {
                if (!json) {
                        if (pipeline.stages > stages.stages)
                                buffer_putc(screen->out, '\n');
                        write_pipeline(&pipeline, job, screen);
                        continue;
                }
                json_object_begin(json);
                json_put_string(json, "job", job);
                json_put_uint(json, "pipeline", pipeline.stages[0].pipeline);
                verdict_put_members(&pipeline, json);
                json_object_end(json);
        }
        return 0;
}

static int print_once(const CommandLine *line, const PipelineAnswers *answers, bool is_redrawn) {
        const PipelineShowOptions *options = line->options;
        scoped(buffer_deinit) Buffer out = {};
        Json json = { .out = &out };
        Screen screen;
        int r;

        screen_init(&screen, &out, STDOUT_FILENO, line->global.no_color);
        if (is_redrawn && screen.can_move)
                buffer_puts(&out, "\x1b[H\x1b[J");
        if (options->json) {
                json_object_begin(&json);
                json_put_array_begin(&json, "pipelines");
        }
        r = write_pipelines(answers, &screen, options->json ? &json : NULL);
        if (r < 0) {
                message_print("%s", strerrordesc_np(-r));
                return EXIT_FAILED;
        }
        if (options->json) {
                json_array_end(&json);
                json_object_end(&json);
                buffer_putc(&out, '\n');
        }
        return output_print(&out);
}

static bool is_running(const Value *job) {
        return strcmp(value_get_string(job, "state") ?: "", "running") == 0;
}

/* Draws the pipelines once. *ret_goes_on: the job is running. job: its id from then on. Returns an exit status. */
static int show_once(const CommandLine *line, char job[static JOB_ID_MAX], bool *ret_goes_on) {
        const PipelineShowOptions *options = line->options;
        scoped(api_query_deinit) ApiQuery job_query = {}, query = {};
        int r;

        r = api_query_open_job(&job_query, &line->global, job[0] ? job : line->arguments[0], "");
        if (r != EXIT_DONE)
                return r;
        (void)stpncpy(job, value_get_string(job_query.answer, "id") ?: "", JOB_ID_MAX - 1);
        r = api_query_open_job(&query, &line->global, job, "/pipeline");
        if (r != EXIT_DONE)
                return r;
        *ret_goes_on = is_running(job_query.answer);
        return print_once(line, &(PipelineAnswers){ job_query.answer, query.answer }, options->watch);
}

static int pipeline_show_run(const CommandLine *line) {
        const PipelineShowOptions *options = line->options;
        char job[JOB_ID_MAX] = "";
        bool goes_on = false;
        int r;

        while ((r = show_once(line, job, &goes_on)) == EXIT_DONE && options->watch && goes_on) {
                const struct timespec interval = { (time_t)(options->interval_ns / NS_PER_S), (long)(options->interval_ns % NS_PER_S) };

                (void)nanosleep(&interval, NULL);
        }
        return r;
}

const Command cmd_pipeline_show = {
        .name = "pipeline show",
        .arguments = "[JOB]",
        .summary = "Draw the data pipelines of a job",
        .help = "Shows how long the training loop waited for data, which stage is the limit, and for each stage how its workers spend "
                "their time and how full its queue is. JOB is an id or a name; default: $PERFD_JOB, else the newest job of this user.",
        .examples = { "perfctl pipeline show train-17", "perfctl pipeline show --watch" },
        COMMAND_OPTIONS(PipelineShowOptions, options_table),
        .n_arguments_max = 1,
        .value = OPTION_VALUE_JOB,
        .run = pipeline_show_run,
};
