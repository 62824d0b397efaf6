/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/message.h"
#include "client/cli/screen.h"
#include "client/commands/perfctl.h"
#include "client/deliver/deliver.h"
#include "client/import/inspection.h"
#include "client/wire/id.h"

/* What became of the runs, of one inspection or of all. */
typedef struct Count {
        size_t n_stored, n_duplicate, n_failed, n_skipped; /* failed: of those that are stored, or were already */
} Count;

typedef struct Import {
        const Options *options;
        Courier courier;
        Count all;
        size_t n_inspections, n_troubled;
        Buffer out;
        Json json;
        int status; /* not EXIT_DONE: there is no point in going on */
} Import;

static void import_deinit(Import *import) {
        courier_deinit(&import->courier);
        buffer_deinit(&import->out);
}

/* Each by itself: then it is known of each whether it was there, and one that is refused leaves the others. */
static int deliver_run(Import *import, const InspectionRun *run, Count *count) {
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        int r;

        courier_allow(&import->courier, import->options->timeout_ns);
        r = deliver(&import->courier, &(Batch){ .items = &run->submission, .n_items = 1 }, &delivery);
        if (r < 0)
                return r;
        if (r == DELIVERY_REFUSED) {
                delivery.refused = DELIVERY_WHOLE;
                delivery_explain(&delivery, &import->courier, reason);
                say("%s: %s", run->file, reason);
                count->n_skipped++;
                return 0;
        }
        if (r != 0) {
                delivery_explain(&delivery, &import->courier, reason);
                say("%s", reason);
                say("Import it again: what is stored is not stored twice");
                import->status = EXIT_UNREACHABLE;
                return 0;
        }

        count->n_stored += delivery.n_stored;
        count->n_duplicate += delivery.n_duplicate;
        count->n_failed += submission_has_failed(&run->submission);
        return 0;
}

/* --- what became of them -------------------------------------------------------------------------- */

static void write_text(Buffer *out, const Count *count) {
        buffer_printf(out, "%zu stored", count->n_stored);
        if (count->n_duplicate > 0)
                buffer_printf(out, ", %zu already there", count->n_duplicate);
        if (count->n_failed > 0)
                buffer_printf(out, ", %zu of them failed", count->n_failed);
        if (count->n_skipped > 0)
                buffer_printf(out, ", %zu skipped", count->n_skipped);
        buffer_putc(out, '\n');
}

static void write_json(Json *json, const Count *count) {
        json_put_uint(json, "stored", count->n_stored);
        json_put_uint(json, "duplicate", count->n_duplicate);
        json_put_uint(json, "failed", count->n_failed);
        json_put_uint(json, "skipped", count->n_skipped);
}

static void tell(Import *import, const Inspection *inspection, const Count *count) {
        char batch[RESULT_ID_TEXT_MAX];

        result_id_format(inspection->batch, batch);
        if (options_has(import->options, OPTION_JSON)) {
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

static void count_in(Import *import, const Count *count) {
        import->n_inspections++;
        import->all.n_stored += count->n_stored;
        import->all.n_duplicate += count->n_duplicate;
        import->all.n_failed += count->n_failed;
        import->all.n_skipped += count->n_skipped;
}

static int import_runs(Import *import, Inspection *inspection, Count *count) {
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
        Count count = {};
        int r;

        r = inspection_open(&inspection, directory, import->options->name, import->options->component);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                say("Cannot import %s: %s: an inspection has results/0/result, results/1/result and so on", directory,
                    r == -ENODATA ? "it has no results" : strerrordesc_np(-r));
                import->n_troubled++;
                return 0;
        }

        r = import_runs(import, &inspection, &count);
        if (r < 0)
                return r;

        tell(import, &inspection, &count);
        count_in(import, &count);
        return 0;
}

static int import_all(Import *import) {
        const Options *options = import->options;
        int r = 0;

        json_init(&import->json, &import->out);
        if (options_has(options, OPTION_JSON)) {
                json_object_begin(&import->json);
                json_key(&import->json, "inspections");
                json_array_begin(&import->json);
        }
        for (int i = 0; i < options->n_arguments && r == 0 && import->status == EXIT_DONE; i++)
                r = import_inspection(import, options->arguments[i]);
        if (r < 0)
                return r;

        if (options_has(options, OPTION_JSON)) {
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

int cmd_import_inspection(const Options *options) {
        scoped(import_deinit) Import import = { .options = options };
        int r;

        courier_init(&import.courier, options->socket, options->timeout_ns);
        r = import_all(&import);
        if (r < 0) {
                say("Cannot import: %s", strerrordesc_np(-r));
                return EXIT_FAILED;
        }

        if (import.out.n > 0)
                r = print_out(&import.out);
        if (import.status != EXIT_DONE)
                return import.status;
        return import.all.n_skipped > 0 || import.n_troubled > 0 ? EXIT_FAILED : r;
}
