/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/deliver/deliver.h"
#include "client/import/inspection.h"
#include "client/wire/id.h"
#include "util/error_text.h"

typedef struct ImportAmunOptions {
        FailedRunOptions failed;
        uint64_t timeout_ns;
        bool replace, json;
} ImportAmunOptions;

/* Outcome of the runs of one inspection or of all. */
typedef struct ImportCount {
        size_t n_stored, n_duplicate, n_failed, n_skipped; /* failed: of those that are stored, or were already */
} ImportCount;

typedef struct Import {
        const CommandLine *line;
        const ImportAmunOptions *options;
        Courier courier;
        ImportCount all;
        size_t n_inspections, n_troubled;
        Buffer out;
        Json json;
        int status; /* not EXIT_DONE: there is no point in going on */
} Import;

static void import_deinit(Import *import) {
        deliver_courier_deinit(&import->courier);
        buffer_deinit(&import->out);
}

/* Sends each run separately, so that a duplicate or refused run does not affect the others. */
static int deliver_run(Import *import, const InspectionRun *run, ImportCount *count) {
        char reason[DELIVERY_TEXT_MAX];
        Submission item = run->submission;
        Delivery delivery;
        int r;

        item.replaces = import->options->replace;
        deliver_courier_set_timeout(&import->courier, import->options->timeout_ns);
        r = deliver(&import->courier, &(Batch){ .items = &item, .n_items = 1 }, &delivery);
        if (r < 0)
                return r;
        if (r == DELIVERY_REFUSED) {
                delivery.refused = DELIVERY_WHOLE;
                delivery_explain(&delivery, &import->courier, reason);
                message_print("%s: %s", run->file, reason);
                count->n_skipped++;
                return 0;
        }
        if (r != 0) {
                delivery_explain(&delivery, &import->courier, reason);
                message_print("%s", reason);
                message_print("repeat the import: stored results are not stored twice");
                import->status = EXIT_UNREACHABLE;
                return 0;
        }

        /* names the completed members, or the first difference from the stored result */
        if (delivery.n_duplicate > 0 && delivery.reply.complaint.text[0])
                message_print("%s: %s", run->file, delivery.reply.complaint.text);
        count->n_stored += delivery.n_stored;
        count->n_duplicate += delivery.n_duplicate;
        count->n_failed += submission_has_failed(&run->submission);
        return 0;
}

/* --- outcome -------------------------------------------------------------------------------------- */

static void write_text(Buffer *out, const ImportCount *count) {
        buffer_printf(out, "%zu stored", count->n_stored);
        if (count->n_duplicate > 0)
                buffer_printf(out, ", %zu already stored", count->n_duplicate);
        if (count->n_failed > 0)
                buffer_printf(out, ", %zu failed", count->n_failed);
        if (count->n_skipped > 0)
                buffer_printf(out, ", %zu skipped", count->n_skipped);
        buffer_putc(out, '\n');
}

static void write_json(Json *json, const ImportCount *count) {
        json_put_uint(json, "stored", count->n_stored);
        json_put_uint(json, "duplicate", count->n_duplicate);
        json_put_uint(json, "failed", count->n_failed);
        json_put_uint(json, "skipped", count->n_skipped);
}

static void print_count(Import *import, const Inspection *inspection, const ImportCount *count) {
        char batch[RESULT_ID_TEXT_MAX];

        id_format_result(inspection->batch, batch);
        if (import->options->json) {
                json_object_begin(&import->json);
                json_put_string(&import->json, "inspection", inspection->id);
                json_put_string(&import->json, "batch", batch);
                write_json(&import->json, count);
                json_object_end(&import->json);
                return;
        }

        (void)screen_text(&(Screen){ .out = &import->out }, inspection->id);
        buffer_printf(&import->out, ": batch %s: ", batch);
        write_text(&import->out, count);
}

static void add_count(Import *import, const ImportCount *count) {
        import->n_inspections++;
        import->all.n_stored += count->n_stored;
        import->all.n_duplicate += count->n_duplicate;
        import->all.n_failed += count->n_failed;
        import->all.n_skipped += count->n_skipped;
}

static int import_runs(Import *import, Inspection *inspection, ImportCount *count) {
        const InspectionRun *run;
        int r = 0;

        while (r == 0 && import->status == EXIT_DONE) {
                r = inspection_next(inspection, &run);
                if (r == 0)
                        r = deliver_run(import, run, count);
        }

        count->n_skipped += inspection->n_skipped;
        return r < 0 ? r : 0;
}

static int import_inspection(Import *import, const char *directory) {
        scoped(inspection_deinit) Inspection inspection = {};
        ImportCount count = {};
        int r;

        r = inspection_open(&inspection, directory, import->options->failed.indicator,
                            import->options->failed.component);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                message_print("cannot import %s: %s; an inspection has results/0/result, results/1/result and so on",
                              directory,
                              r == -ENODATA || (r == -ENOENT && access(directory, F_OK) == 0) ? "no results"
                                                                                              : error_text(-r));
                import->n_troubled++;
                return 0;
        }

        r = import_runs(import, &inspection, &count);
        if (r < 0)
                return r;

        print_count(import, &inspection, &count);
        add_count(import, &count);
        return 0;
}

static int import_all(Import *import) {
        int r = 0;

        import->json = (Json){ .out = &import->out };
        if (import->options->json) {
                json_object_begin(&import->json);
                json_put_array_begin(&import->json, "inspections");
        }
        for (int i = 0; i < import->line->n_arguments && r == 0 && import->status == EXIT_DONE; i++)
                r = import_inspection(import, import->line->arguments[i]);
        if (r < 0)
                return r;

        if (import->options->json) {
                json_array_end(&import->json);
                write_json(&import->json, &import->all);
                json_object_end(&import->json);
                buffer_putc(&import->out, '\n');
        } else if (import->n_inspections > 1) {
                buffer_printf(&import->out, "%zu inspections: ", import->n_inspections);
                write_text(&import->out, &import->all);
        }
        return 0;
}

static int import_amun_run(const CommandLine *line) {
        const ImportAmunOptions *options = line->options;
        scoped(import_deinit) Import import = { .line = line, .options = options };
        int r;

        deliver_courier_init(&import.courier, line->global.socket, options->timeout_ns);
        r = import_all(&import);
        if (r < 0) {
                message_print("cannot import: %s", error_text(-r));
                return EXIT_FAILED;
        }

        if (import.out.n > 0)
                r = output_print(&import.out);
        if (import.status != EXIT_DONE)
                return import.status;
        return import.all.n_skipped > 0 || import.n_troubled > 0 ? EXIT_FAILED : r;
}

const Command cmd_import_amun = {
        .name = "import amun",
        .arguments = "DIRECTORY…",
        .summary = "Import result directories of Amun, each as a batch",
        .help = "Amun is the service of Project Thoth that ran benchmark scripts in a cluster. Reads "
                "build/specification and results/N/result of each directory. Failed runs are kept with their exit "
                "status and output. Importing a directory again adds the software stack and the specification to "
                "results that lack them, and reports results that differ from the stored results, which are kept. "
                "Exits with 1 when a file was skipped; the file and the reason are printed.",
        .examples = {
                "perfctl import amun inspection-matmul-fd697eb4",
                "perfctl import amun --json zoo/inspection-*",
        },
        COMMAND_OPTION_ROWS(ImportAmunOptions,
                OPTION_INCLUDE(ImportAmunOptions, failed, FailedRunOptions, failed_run_options),
                OPTION_ROW_REPLACE(ImportAmunOptions, replace),
                OPTION_ROW_TIMEOUT(ImportAmunOptions, timeout_ns),
                OPTION_ROW_JSON(ImportAmunOptions, json)),
        .n_arguments_min = 1,
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_DIRECTORY,
        .run = import_amun_run,
};
