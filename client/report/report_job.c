/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_job.h"

#include <stdio.h>

#include "client/api/answer.h"
#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/pipeline/stored_stages.h"
#include "client/pipeline/verdict.h"
#include "client/report/report.h"
#include "util/clock.h"

#define PIPELINE_TIMEOUT_NS (1 * NS_PER_S)

/* Writes the verdict about each data pipeline of the job, if it has any. */
static void write_pipelines(Screen *screen, const GlobalOptions *global, const Value *job) {
        scoped(api_query_deinit) ApiQuery query = {};
        scoped(stage_set_deinit) StageSet stages = {};
        char path[JOB_ID_MAX + 32];
        VerdictPipeline pipeline;
        const Value *answer;
        size_t at = 0;

        (void)snprintf(path, sizeof(path), "/api/v1/jobs/%s/pipeline", answer_text(job, "id"));
        answer = api_query_peek(&query, global, path, PIPELINE_TIMEOUT_NS);
        if (!answer || stored_stages_read(answer, &stages) < 0 || stages.n == 0)
                return;

        stored_stages_join_job(&stages, job);
        screen_heading(screen, "Data pipeline");
        while (verdict_next(&stages, 0, &at, &pipeline)) {
                scoped(buffer_deinit) Buffer text = {};

                verdict_write_headline(&pipeline, &text);
                buffer_putc(&text, ' ');
                verdict_write_sentence(&pipeline, &text);
                buffer_puts(screen->out, "  ");
                screen_wrap(screen, text.text ?: "", 2);
                buffer_putc(screen->out, '\n');
        }
}

int report_job_print(const GlobalOptions *global, const Value *job, bool is_brief, int fd) {
        scoped(api_query_deinit) ApiQuery of_node = {}, of_indicators = {}, of_results = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        ReportResults results = {};
        Screen screen;

        /* Host name, clock and results are shown where perfd returns them. */
        if (api_query_init(&of_node, global) == EXIT_DONE)
                node = api_query_node(&of_node, job);
        if (!is_brief && api_query_init(&of_indicators, global) == EXIT_DONE && api_query_init(&of_results, global) == EXIT_DONE)
                report_results_ask(&of_indicators, &of_results, job, &results);

        screen_init(&screen, &out, fd, global->no_color);
        if (is_brief)
                report_write_head(&screen, job, node);
        else {
                report_write(&screen, job, node, &results);
                write_pipelines(&screen, global, job);
        }
        return output_print_to(fd, &out);
}
