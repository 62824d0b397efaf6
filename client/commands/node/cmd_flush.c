/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/deliver.h"
#include "client/deliver/spool.h"
#include "client/mlflow/mlflow.h"
#include "util/error_text.h"

static bool is_empty(const Flush *flush) {
        return flush->n_stored + flush->n_duplicate + flush->n_ends + flush->n_unknown + flush->n_rejected +
                       flush->n_left + flush->n_skipped ==
               0;
}

static void write_counts(Buffer *out, const Flush *flush, size_t n_waiting) {
        const struct {
                size_t n;
                const char *words;
        } counts[] = {
                { flush->n_stored, "stored" },
                { flush->n_duplicate, "already stored" },
                { flush->n_ends, "ends of jobs" },
                { flush->n_unknown, "ends of unknown jobs" },
                { flush->n_rejected, flush->n_rejected == 1 ? "file rejected" : "files rejected" },
                { flush->n_left, flush->n_left == 1 ? "file left" : "files left" },
                { flush->n_skipped, "skipped" },
                { n_waiting, n_waiting == 1 ? "job waits for MLflow" : "jobs wait for MLflow" },
        };
        const char *separator = "";

        for (size_t i = 0; i < N_ELEMENTS(counts); i++) {
                if (counts[i].n == 0)
                        continue;
                buffer_printf(out, "%s%zu %s", separator, counts[i].n, counts[i].words);
                separator = ", ";
        }
        buffer_putc(out, '\n');
}

static int print_flush(bool json, const Flush *flush, size_t n_waiting) {
        scoped(buffer_deinit) Buffer out = {};

        if (json)
                buffer_printf(
                        &out,
                        "{\"stored\":%zu,\"duplicate\":%zu,\"ended\":%zu,\"unknown\":%zu,\"rejected\":%zu,\"left\":%zu,"
                        "\"skipped\":%zu}\n",
                        flush->n_stored, flush->n_duplicate, flush->n_ends, flush->n_unknown, flush->n_rejected,
                        flush->n_left, flush->n_skipped);
        else if (is_empty(flush) && n_waiting == 0)
                buffer_puts(&out, "spool is empty\n");
        else
                write_counts(&out, flush, n_waiting);

        return output_print(&out);
}

static int flush_run(const CommandLine *line) {
        const SpoolOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        char directory[PATH_MAX] = "";
        bool is_logged = true;
        size_t n_waiting = 0;
        Flush flush;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        courier.is_by_answer = true;
        r = spool_find_directory(options->spool, directory);
        if (r == 0)
                r = deliver_spool(&courier, directory, &flush);
        if (r < 0) {
                message_print("cannot read the spool %s: %s", directory, error_text(-r));
                return EXIT_FAILED;
        }

        if (flush.n_left == 0)
                is_logged = mlflow_flush(&line->global, directory, &n_waiting);
        r = print_flush(options->json, &flush, n_waiting);
        if (flush.n_rejected > 0)
                message_print("refused files were moved to %s/rejected: %s", directory, flush.reason);
        if (flush.n_left > 0)
                message_print("%s", flush.reason);
        for (char *rest = flush.skipped, *name; (name = strsep(&rest, "\n"));)
                if (*name)
                        message_print("skipped %s/%s", directory, name);

        if (flush.n_left > 0)
                return EXIT_UNREACHABLE;
        return !is_logged || flush.n_rejected + flush.n_skipped > 0 ? EXIT_FAILED : r;
}

const Command cmd_flush = {
        .name = "flush",
        .summary = "Send results kept in the spool",
        .help = "Results that perfd refuses permanently are moved to rejected/ in the spool, with the reason. Then "
                "jobs that wait for a server of MLflow are logged there.",
        .examples = { "perfctl flush", "perfctl flush --timeout 60" },
        COMMAND_OPTIONS(SpoolOptions, spool_options),
        .run = flush_run,
};
