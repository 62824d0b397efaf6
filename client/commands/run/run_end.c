/* SPDX-License-Identifier: Apache-2.0 */
#include "client/commands/run/run_end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "client/api/api_query.h"
#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/report/report.h"

void run_end_print_report(const GlobalOptions *global, const char *job) {
        scoped(api_query_deinit) ApiQuery query = {};

        if (api_query_open_job(&query, global, job, "") == EXIT_DONE)
                (void)report_print_job(global, query.answer, false, STDERR_FILENO);
}

void run_end_execute(const char *command) {
        int status = system(command);

        if (status < 0)
                message_print("cannot run the command of --at-end: %s", strerrordesc_np(errno));
        else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                message_print("the command of --at-end exited with status %d", WEXITSTATUS(status));
        else if (WIFSIGNALED(status))
                message_print("signal %d terminated the command of --at-end", WTERMSIG(status));
}

void run_end_report_left(size_t n) {
        if (n == 1)
                message_print("1 process of the command is still running; its further usage is not counted (see --wait)");
        if (n > 1)
                message_print("%zu processes of the command are still running; their further usage is not counted (see --wait)", n);
}
