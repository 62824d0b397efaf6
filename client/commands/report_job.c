/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/report_job.h"

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/report/report.h"

int report_job_print(const GlobalOptions *global, const Value *job, int fd) {
        scoped(api_query_deinit) ApiQuery of_node = {}, of_indicators = {}, of_results = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *node = NULL;
        ReportResults results = {};
        Screen screen;

        /* Host name, clock and results are shown where perfd returns them. */
        if (api_query_init(&of_node, global) == EXIT_DONE)
                node = api_query_node(&of_node, job);
        if (api_query_init(&of_indicators, global) == EXIT_DONE && api_query_init(&of_results, global) == EXIT_DONE)
                report_results_ask(&of_indicators, &of_results, job, &results);

        screen_init(&screen, &out, fd, global->no_color);
        report_write(&screen, job, node, &results);
        return output_print_to(fd, &out);
}
