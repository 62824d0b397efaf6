/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "client/api/api_query.h"
#include "client/cli/component_note.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "client/commands/commands.h"
#include "client/commands/delivery_failure.h"
#include "client/commands/indicators/result_energy.h"
#include "client/deliver/deliver.h"
#include "client/facts/object_builder.h"
#include "client/format/format.h"
#include "client/deliver/spool.h"
#include "client/import/amun.h"
#include "client/import/latencies.h"
#include "client/kpi/kpi_judge.h"
#include "client/wire/id.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "value/value_parse.h"

#define COMPLAINTS_MAX 20U

typedef struct SubmitOptions {
        const char *job, *spool;
        FailedRunOptions failed;
        const char *component_version;
        uint64_t timeout_ns, batch_length; /* batch_length 0: not given */
        KpiGateOptions kpis;
        FormatOptions format;
        bool latencies, energy, json;
} SubmitOptions;

/* Position at which a document begins. */
typedef struct Origin {
        const char *name; /* of the file */
        unsigned line, column;
        char path[48];    /* of the document in a list, "[2]" or "[0][2]" */
} Origin;

/* Documents of all files, checked. */
typedef struct Intake {
        const char *job;
        bool is_job_inherited; /* the job is from $PERFD_JOB */
        AmunContext context;
        uint64_t realtime_ms;
        bool is_latencies;     /* of batches, of which indicators are made */
        uint64_t batch_length; /* 0: not given */
        const OutputFormat *format;  /* NULL: the documents are indicators */
        Submission *items;
        Origin *origins; /* of the items */
        size_t n_items;
        Arena *arenas; /* one for each file, in which its documents live */
        size_t n_arenas;
        size_t n_complaints;
        bool is_component_noted;
        const GlobalOptions *energy_of; /* asks perfd; NULL: no energy is added */
        ResultEnergy energy;
} Intake;

static void intake_deinit(Intake *intake) {
        for (size_t i = 0; i < intake->n_arenas; i++)
                arena_deinit(&intake->arenas[i]);
        free(intake->arenas);
        free(intake->items);
        free(intake->origins);
        result_energy_deinit(&intake->energy);
}

/* --- checking ------------------------------------------------------------------------------------- */

/* Adds the component and the version of the command line to a document that names none. */
static int complete(const AmunContext *context, Arena *arena, const Value **document) {
        int r = 0;

        if (context->component)
                r = object_builder_complete(*document, "component", context->component, arena, document);
        if (r == 0 && context->version)
                r = object_builder_complete(*document, "version", context->version, arena, document);
        return r;
}

/* Adds an item whose indicator is already filled in. */
static int add_item(Intake *intake, const Origin *origin, Submission *item) {
        int r;

        item->job = intake->job;
        item->is_job_inherited = intake->is_job_inherited;
        if (item->time_ms == 0)
                item->time_ms = intake->realtime_ms;
        r = id_make_result(intake->realtime_ms, item->id);
        if (r == 0)
                r = ARRAY_EXTEND(intake->items, intake->n_items);
        if (r == 0)
                r = ARRAY_EXTEND(intake->origins, intake->n_items);
        if (r != 0)
                return r;

        component_note(&item->indicator, &intake->is_component_noted);
        intake->origins[intake->n_items] = *origin;
        intake->items[intake->n_items++] = *item;
        return 0;
}

/* The column only where others may begin on the same line. */
static void print_complaint(const Origin *origin, const Complaint *complaint) {
        char column[16] = "";

        if (origin->column > 1)
                snprintf(column, sizeof(column), ":%u", origin->column);
        message_print("%s:%u%s: %s%s%s%s%s", origin->name, origin->line, column, origin->path,
                      origin->path[0] && complaint->path[0] ? "." : "", complaint->path,
                      origin->path[0] || complaint->path[0] ? ": " : "", complaint->text);
}

static int add_energy(Intake *intake, bool is_amun, const Value **document, Complaint *complaint) {
        if (is_amun || intake->n_items > 0)
                return indicator_complain(complaint, "", "--energy is that of one document%s",
                                          is_amun ? ", which is an indicator" : ": submit each when it was measured");
        return result_energy_add(&intake->energy, intake->energy_of, intake->job, document);
}

/* time_ms 0: unknown. */
static int take_document(Intake *intake, Arena *arena, const Origin *origin, const Value *document, uint64_t time_ms) {
        Submission item = { .time_ms = time_ms };
        bool is_amun = !intake->is_latencies && amun_is_result(document);
        Complaint complaint;
        int r = 0;

        if (intake->is_latencies)
                r = latencies_from_value(document, intake->batch_length, arena, &document, &complaint);
        if (r == 0 && !is_amun)
                r = complete(&intake->context, arena, &document);
        if (r == 0 && !is_amun)
                r = object_builder_add_given(document, arena, &document, &complaint);
        if (r == 0 && intake->energy_of)
                r = add_energy(intake, is_amun, &document, &complaint);
        if (r == 0)
                r = is_amun ? amun_read(document, &intake->context, arena, &item, &complaint) :
                              indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item.indicator, &complaint);
        if (r == 0)
                r = add_item(intake, origin, &item);
        if (r == INDICATOR_INVALID) {
                print_complaint(origin, &complaint);
                intake->n_complaints++;
        }
        return r < 0 ? r : 0;
}

/* Takes a document, or those of a list. 0 also when something was complained about, here and below; < 0 only for
 * trouble of our own. */
static int take_value(Intake *intake, Arena *arena, const Origin *origin, const Value *value, size_t *n) {
        int r = 0;

        if (value->type != VALUE_LIST) {
                ++*n;
                return take_document(intake, arena, origin, value, 0);
        }
        for (size_t i = 0; i < value->n_items && r == 0 && intake->n_complaints < COMPLAINTS_MAX; i++) {
                Origin item = *origin;

                (void)snprintf(item.path, sizeof(item.path), "%.20s[%zu]", origin->path, i);
                r = take_value(intake, arena, &item, &value->items[i], n);
        }
        return r;
}

/* Moves to the next document. Text behind a document on its line is parsed, too, and refused. */
static bool seek_document(ValueReader *reader, bool is_behind) {
        size_t n_blanks = strspn(reader->text + reader->at, " \t"), at = reader->at + n_blanks;

        reader->n_other_lines = 0;
        return (is_behind && at < reader->n && reader->text[at] != '\n') || value_parse_seek(reader);
}

static int complain(Intake *intake, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int complain(Intake *intake, const char *format, ...) {
        char text[VALUE_ERROR_TEXT_MAX + PATH_MAX];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        message_print("%s", text);
        intake->n_complaints++;
        return 0;
}

static int take_documents(Intake *intake, Arena *arena, const char *name, const Buffer *text) {
        size_t n_documents = 0, n_values = 0, n_other_lines = 0, n_not_finite = 0;
        const Value *value;
        ValueReader reader;
        ValueError error;
        int r = 0;

        value_parse_begin(&reader, text->text ?: "", text->n);
        while (r == 0 && intake->n_complaints < COMPLAINTS_MAX && seek_document(&reader, n_values > 0)) {
                Origin origin = { .name = name };

                n_other_lines += reader.n_other_lines;
                r = value_parse_next(&reader, arena, &value, &error);
                if (r != 0)
                        break;
                origin.line = reader.begin_line;
                origin.column = reader.begin_column;
                n_values++;
                n_not_finite += reader.n_not_finite;
                r = take_value(intake, arena, &origin, value, &n_documents);
        }
        n_other_lines += r == 0 ? reader.n_other_lines : 0;

        if (r == VALUE_MALFORMED)
                return complain(intake, "%s:%u:%u: %s", name, error.line, error.column, error.text);
        if (r == VALUE_NO_ROOM || r < 0)
                return -ENOMEM;
        if (n_documents == 0 && intake->n_complaints < COMPLAINTS_MAX)
                return complain(intake, "%s:1: no document%s", name,
                                n_other_lines > 0 ? ": no line begins with a JSON object, or a list of some" : "");
        if (n_other_lines > 0)
                message_print("%s: skipped lines that are not JSON: %zu", name, n_other_lines);
        if (n_not_finite > 0)
                message_print("%s: " INPUT_NOT_FINITE_TEXT, name, n_not_finite);
        return 0;
}

/* Takes the documents that a format makes of a text. */
static int take_formatted(Intake *intake, Arena *arena, const char *name, const Buffer *text) {
        scoped(format_result_deinit) FormatResult result = {};
        int r;

        r = format_read(intake->format, text->text ?: "", text->n, arena, &result);
        if (r == FORMAT_WRONG)
                return complain(intake, "%s:%u: %s", name, result.line, result.error);
        for (size_t i = 0; i < result.n && r == 0 && intake->n_complaints < COMPLAINTS_MAX; i++) {
                const Origin origin = { .name = name, .line = result.documents[i].line, .column = 1 };

                r = take_document(intake, arena, &origin, result.documents[i].value, result.documents[i].time_ms);
        }
        if (r == 0 && result.n_left_out > 0)
                message_print("%s: " FORMAT_LEFT_OUT_TEXT, name, result.n_left_out, result.left_out_by);
        if (r == 0 && result.n_null > 0)
                message_print("%s: " FORMAT_NULL_TEXT, name, result.n_null);
        return r;
}

static int take_numbers(Intake *intake, Arena *arena, const char *name, const Buffer *text) {
        Origin origin = { .name = name, .line = 1, .column = 1 };
        Submission item = {};
        const Value *document;
        Complaint complaint;
        int r;

        r = latencies_from_lines(text->text, text->n, intake->batch_length, arena, &document, &complaint, &origin.line);
        if (r == 0)
                r = object_builder_add_given(document, arena, &document, &complaint);
        if (r == 0)
                r = indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item.indicator, &complaint);
        if (r == 0)
                r = add_item(intake, &origin, &item);
        if (r == INDICATOR_INVALID) {
                print_complaint(&origin, &complaint);
                intake->n_complaints++;
        }
        return r < 0 ? r : 0;
}

static int take_text(Intake *intake, const char *name, const Buffer *text) {
        Arena *arena = &intake->arenas[intake->n_arenas];
        int r;

        r = arena_init(arena, intake->format       ? format_arena_size(text->n) :
                              intake->is_latencies ? value_parse_arena_size(text->n) + latencies_arena_size(text->n) :
                                                     amun_arena_size(text->n));
        if (r < 0)
                return r;
        intake->n_arenas++;

        if (intake->format)
                return take_formatted(intake, arena, name, text);
        return intake->is_latencies && latencies_are_lines(text->text, text->n)
                       ? take_numbers(intake, arena, name, text)
                       : take_documents(intake, arena, name, text);
}

static int take_file(Intake *intake, const char *file) {
        scoped(buffer_deinit) Buffer text = {};

        if (input_read(file, &text) == EXIT_DONE)
                return take_text(intake, input_name(file), &text);

        intake->n_complaints++;
        return 0;
}

static int take_files(Intake *intake, const CommandLine *line) {
        char *standard_input[] = { (char[]){ "-" } };
        char **files = line->n_arguments > 0 ? line->arguments : standard_input;
        size_t n = line->n_arguments > 0 ? (size_t)line->n_arguments : 1;
        int r = 0;

        if (line->n_arguments == 0 && isatty(STDIN_FILENO) == 1)
                message_print("reading documents from the terminal; Ctrl-D ends the input");

        intake->arenas = calloc(n, sizeof(*intake->arenas));
        if (!intake->arenas)
                return -ENOMEM;

        for (size_t i = 0; i < n && r == 0 && intake->n_complaints < COMPLAINTS_MAX; i++)
                r = take_file(intake, files[i]);

        return r;
}

/* --- outcome -------------------------------------------------------------------------------------- */

static int print_result(const SubmitOptions *options, const Delivery *delivery, size_t n_spooled) {
        scoped(buffer_deinit) Buffer out = {};
        const char *separator = "";

        if (options->json) {
                buffer_printf(&out, "{\"stored\":%zu,\"duplicate\":%zu,\"spooled\":%zu}\n",
                              delivery->n_stored, delivery->n_duplicate, n_spooled);
                return output_print(&out);
        }

        if (delivery->n_stored > 0 || n_spooled == 0) {
                buffer_printf(&out, "%zu stored", delivery->n_stored);
                separator = ", ";
        }
        if (delivery->n_duplicate > 0) {
                buffer_printf(&out, "%s%zu already stored", separator, delivery->n_duplicate);
                separator = ", ";
        }
        if (n_spooled > 0)
                buffer_printf(&out, "%s%zu kept in the spool", separator, n_spooled);
        buffer_putc(&out, '\n');
        return output_print(&out);
}

static int spool_rest(const SubmitOptions *options, const Intake *intake, const Delivery *delivery,
                      const char *reason) {
        Batch rest = { .items = intake->items + delivery->n_acked, .n_items = intake->n_items - delivery->n_acked };
        char directory[PATH_MAX] = "", name[SPOOL_NAME_MAX];
        int r;

        message_print("%s", reason);
        r = spool_find_directory(options->spool, directory);
        if (r == 0)
                r = spool_put(directory, &rest, intake->realtime_ms, name);
        if (r < 0) {
                message_print("cannot keep the results in %s: %s", directory[0] ? directory : "a spool",
                              error_text(-r));
                return delivery_failure_status(delivery, DELIVERY_UNAVAILABLE);
        }

        message_print("kept in %s/%s; the next submit or 'perfctl flush' sends it", directory, name);
        return print_result(options, delivery, rest.n_items);
}

/* Sends the spool in the remaining time; a failure does not change the exit status. */
static void flush_spool(const SubmitOptions *options, Courier *courier) {
        char directory[PATH_MAX];
        Flush flush;

        if (spool_find_directory(options->spool, directory) < 0 || deliver_spool(courier, directory, &flush) < 0)
                return;

        if (flush.n_stored + flush.n_duplicate + flush.n_ends > 0)
                message_print("also sent from the spool: %zu results, %zu ends of jobs",
                              flush.n_stored + flush.n_duplicate, flush.n_ends);
        if (flush.n_rejected > 0)
                message_print("%zu files of the spool were refused and moved to %s/rejected: %s", flush.n_rejected,
                              directory, flush.reason);
}

static int report_refusal(const Intake *intake, const Delivery *delivery, const char *reason) {
        if (delivery->refused < intake->n_items)
                print_complaint(&intake->origins[delivery->refused], &delivery->reply.complaint);
        else
                message_print("%s", reason);

        if (delivery->n_acked > 0)
                message_print("stored the %zu documents before it", delivery->n_acked);
        else
                message_print("nothing was stored");
        return EXIT_FAILED;
}

static int submit(const CommandLine *line, const Intake *intake) {
        const SubmitOptions *options = line->options;
        scoped(deliver_courier_deinit) Courier courier;
        char reason[DELIVERY_TEXT_MAX];
        Delivery delivery;
        int r;

        deliver_courier_init(&courier, line->global.socket, options->timeout_ns);
        r = deliver(&courier, &(Batch){ .items = intake->items, .n_items = intake->n_items }, &delivery);
        if (r > 0)
                delivery_explain(&delivery, &courier, reason);
        if (delivery.n_requests > 1)
                message_print("sent %zu requests: each is stored as a whole, but not all of them together",
                              delivery.n_requests);
        if (delivery.remark[0])
                message_print("%s; use --job to choose", delivery.remark);
        if (r == DELIVERY_UNAVAILABLE) {
                r = spool_rest(options, intake, &delivery, reason);
                if (r != EXIT_DONE || !options->kpis.judge)
                        return r;
                message_print("the results are not stored yet: there are no verdicts");
                return kpi_gate_status(&options->kpis.gate, &(KpiTally){});
        }
        if (r == DELIVERY_REFUSED)
                return report_refusal(intake, &delivery, reason);
        if (r != 0)
                return delivery_failure_print(&delivery, &courier, r);

        flush_spool(options, &courier);
        r = print_result(options, &delivery, 0);
        if (r != EXIT_DONE || !options->kpis.judge)
                return r;
        return kpi_judge(&line->global, &options->kpis.gate, intake->items, intake->n_items, STDERR_FILENO);
}

/* Loads the format of the options, if there are any of it. Returns an exit status. */
static int load_format(const CommandLine *line, Intake *intake, OutputFormat *ret) {
        const SubmitOptions *options = line->options;
        int r;

        if (!format_is_given(&options->format))
                return EXIT_DONE;
        if (options->latencies)
                return command_refuse(line->command->name,
                                      "--latencies has a form of its own, without --from, --each or --line");
        r = format_load(&options->format, options->failed.indicator, options->failed.component, ret);
        intake->format = ret;
        return r;
}

static int submit_run(const CommandLine *line) {
        const SubmitOptions *options = line->options;
        scoped(intake_deinit) Intake intake = { .realtime_ms = clock_realtime_ns() / NS_PER_MS };
        scoped(format_deinit) OutputFormat format = {};
        char id[JOB_ID_MAX];
        JobRef job;
        int r;

        r = kpi_gate_check_options(&options->kpis, line->command->name);
        if (r == EXIT_DONE)
                r = load_format(line, &intake, &format);
        if (r != EXIT_DONE)
                return r;
        if (options->energy && options->latencies)
                return command_refuse(line->command->name, "--energy is not for --latencies");
        if (options->batch_length > 0 && !options->latencies)
                return command_refuse(line->command->name, "--batch-length requires --latencies");

        intake.is_latencies = options->latencies;
        intake.batch_length = options->batch_length;
        intake.context = (AmunContext){ .name = options->failed.indicator, .component = options->failed.component,
                                         .version = options->component_version };
        r = api_query_find_own_job(&line->global, options->job, id, &job);
        if (r != EXIT_DONE)
                return r;
        intake.job = job.id;
        intake.is_job_inherited = job.is_inherited;
        intake.energy_of = options->energy ? &line->global : NULL;

        r = take_files(&intake, line);
        if (r < 0) {
                message_print("cannot read the documents: %s", error_text(-r));
                return EXIT_FAILED;
        }
        if (intake.n_complaints > 0) {
                message_print("nothing was sent");
                return EXIT_FAILED;
        }

        return submit(line, &intake);
}

const Command cmd_submit = {
        .name = "submit",
        .arguments = "[FILE]…",
        .summary = "Submit indicators: JSON documents printed by a script",
        .help = "Reads the files, or standard input for - and without files. A file may hold several documents, one "
                "after the other. All are checked before the first is sent. Results that perfd cannot accept within "
                "the timeout are kept in the spool, and sent by the next submit or flush. With --latencies, a file "
                "holds the seconds that each batch of a model took, on lines or as {\"time_per_batch\": [...], "
                "\"batch_length\": 8}, and their percentiles are submitted. With --from, --each or --line, it holds "
                "the output of another program, see perfctl-formats(5). With --energy, one document gets the energy "
                "that its job has used since its begin, or since the last such result.",
        .examples = {
                "./matmul.py | perfctl submit",
                "perfctl submit --job train-17 result.json",
                "perfctl submit --from hyperfine --component zstd times.json",
                "perfctl submit --latencies --batch-length 8 seconds.txt",
        },
        COMMAND_OPTION_ROWS(SubmitOptions,
                OPTION_ROW_JOB(SubmitOptions, job),
                OPTION_INCLUDE(SubmitOptions, failed, FailedRunOptions, failed_run_options),
                OPTION_ROW_COMPONENT_VERSION(SubmitOptions, component_version),
                OPTION_ROW_TIMEOUT(SubmitOptions, timeout_ns),
                OPTION_ROW_SPOOL(SubmitOptions, spool),
                { "latencies", 0, NULL, "Read batch times of a model, in seconds", OPTION_FLAG(SubmitOptions, latencies) },
                { "batch-length", 0, "N", "Queries in each batch (default 1)", OPTION_COUNT(SubmitOptions, batch_length, 1, LATENCY_LENGTH_MAX) },
                OPTION_INCLUDE(SubmitOptions, format, FormatOptions, format_options),
                { "energy", 0, NULL, "Add the energy that the job has used since its last result with it",
                  OPTION_FLAG(SubmitOptions, energy) },
                OPTION_INCLUDE(SubmitOptions, kpis, KpiGateOptions, kpi_gate_options),
                OPTION_ROW_JSON(SubmitOptions, json)),
        .n_arguments_max = COMMAND_MANY,
        .value = OPTION_VALUE_FILE,
        .run = submit_run,
};
