/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/run_results.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/component_note.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/facts/object_builder.h"
#include "client/results/run_stack.h"
#include "client/wire/id.h"
#include "text/encoding.h"
#include "util/clock.h"
#include "util/utf8.h"

/* --- the record of a run -------------------------------------------------------------------------- */

#define VARIABLE_BYTES_MAX 4096U

static bool is_python(const char *program) {
        return strncmp(basename(program), "python", 6) == 0;
}

/* Returns the Python that runs the command, which need not be the first in PATH. */
static const char *find_python(const RunPlace *place) {
        if (place->has_script && is_python(place->script.interpreter))
                return place->script.interpreter;
        return place->program && is_python(place->program) ? place->program : "python3";
}

void run_results_read_place(RunPlace *place) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *path = getenv("PATH"), *cuda = getenv("CUDA_HOME");

        host_facts_read(root_fd, &place->host);
        (void)host_facts_program_version(path ?: "", find_python(place), place->python);
        (void)host_facts_program_version(path ?: "", "gcc", place->gcc);
        (void)host_facts_program_version("", cuda && cuda[0] == '/' ? cuda : "/usr/local/cuda", place->cuda);
}

static void put_rusage(const JobRusage *from, ObjectBuilder *run) {
        ObjectBuilder rusage;

        object_builder_init(&rusage, run->arena, 16);
        object_builder_put_double(&rusage, "ru_utime", from->ru_utime);
        object_builder_put_double(&rusage, "ru_stime", from->ru_stime);
#define X(field) object_builder_put_int(&rusage, "ru_" #field, from->ru_##field);
        RUSAGE_COUNTS(X)
#undef X
        object_builder_put_object(run, "rusage", &rusage);
}

static void put_stderr(const OutputTail *tail, ObjectBuilder *run) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_cut;

        output_tail_text(tail, &text, &is_cut);
        run->failed |= buffer_error(&text) < 0;
        object_builder_put_text_n(run, "stderr", text.text, text.n);
        object_builder_put_bool(run, "stderr_cut", is_cut);
}

/* Leaves out variables that are not set or whose value is not UTF-8. */
static void put_environment(const RunPlace *place, ObjectBuilder *run) {
        ObjectBuilder environment;

        object_builder_init(&environment, run->arena, OPTION_TEXTS_MAX);
        for (size_t i = 0; i < place->environment.n; i++) {
                const char *value = getenv(place->environment.items[i]);
                Value text = { .type = VALUE_STRING };

                if (!value || !utf8_is_valid(value, strlen(value)))
                        continue;
                text.string = arena_strndup(run->arena, value, utf8_cut(value, VARIABLE_BYTES_MAX));
                if (text.string)
                        object_builder_put(&environment, place->environment.items[i], &text);
                else
                        run->failed = true;
        }
        object_builder_put_object(run, "environment", &environment);
}

static void put_labels(const RunPlace *place, ObjectBuilder *run) {
        ObjectBuilder labels;

        object_builder_init(&labels, run->arena, OPTION_TEXTS_MAX);
        for (size_t i = 0; i < place->labels.n; i++) {
                const char *label = place->labels.items[i], *equals = strchr(label, '=');
                const char *key = equals ? arena_strndup(run->arena, label, (size_t)(equals - label)) : NULL;

                if (!key)
                        run->failed = true;
                else if (utf8_is_valid(equals + 1, strlen(equals + 1)))
                        object_builder_put_text(&labels, key, equals + 1);
        }
        object_builder_put_object(run, "labels", &labels);
}

static void put_place(const RunPlace *place, ObjectBuilder *run) {
        ObjectBuilder script, runtime;
        char directory[PATH_MAX];

        object_builder_init(&script, run->arena, 2);
        if (place->has_script) {
                object_builder_put_text(&script, "sha256", place->script.sha256);
                if (utf8_is_valid(place->script.origin, strlen(place->script.origin)))
                        object_builder_put_text(&script, "origin", place->script.origin);
        }
        object_builder_put_object(run, "script", &script);
        host_facts_put(&place->host, run);

        object_builder_init(&runtime, run->arena, 3);
        object_builder_put_text(&runtime, "python", place->python);
        object_builder_put_text(&runtime, "gcc", place->gcc);
        object_builder_put_text(&runtime, "cuda", place->cuda);
        object_builder_put_object(run, "runtime", &runtime);
        put_environment(place, run);
        put_labels(place, run);
        if (getcwd(directory, sizeof(directory)) && utf8_is_valid(directory, strlen(directory)))
                object_builder_put_text(run, "directory", directory);
}

#define RUN_MEMBERS_MAX 15U

static int make_record(const RunPlace *place, const RunFacts *facts, Arena *arena, const Value **ret) {
        Value *value = arena_alloc(arena, sizeof(*value));
        ObjectBuilder run;

        object_builder_init(&run, arena, RUN_MEMBERS_MAX);
        if (facts->has_rusage)
                put_rusage(&facts->rusage, &run);
        if (facts->error)
                put_stderr(facts->error, &run);
        object_builder_put_time(&run, "begin", facts->begin_realtime_ns);
        object_builder_put_time(&run, "end", facts->end_realtime_ns);
        object_builder_put_double(&run, "wall_seconds", facts->wall_seconds);
        if (facts->n_oom_kills > 0)
                object_builder_put_int(&run, "oom_kills", (int64_t)facts->n_oom_kills);
        put_place(place, &run);
        if (!value || object_builder_end(&run, value) < 0)
                return -ENOMEM;

        *ret = value;
        return 0;
}

/* --- results -------------------------------------------------------------------------------------- */

void run_results_deinit(RunResults *results) {
        free(results->items);
        arena_deinit(&results->arena);
}

/* Reports output that resembles an indicator and is none, and missing indicators where one is required. */
static void report_lost_output(const Capture *capture, const CaptureLoss *loss, bool is_wanted) {
        if (capture->is_too_long && (is_wanted || capture->names_result))
                message_print("no indicator submitted: the output is longer than %u KiB", CAPTURE_BYTES_MAX / 1024);
        else if (loss->error.line > 0 && (is_wanted || loss->names_result))
                message_print("%s submitted: output:%u:%u: %s",
                              loss->names_result ? "an indicator in the output was not" : "no indicator was",
                    loss->error.line, loss->error.column, loss->error.text);
        else if (is_wanted)
                message_print("no indicator submitted: the output has no JSON object with @result");
        if (loss->n_not_finite > 0)
                message_print("output: " INPUT_NOT_FINITE_TEXT, loss->n_not_finite);
        if (loss->is_cut)
                message_print("the output has more than %u indicators; the rest was not submitted",
                              CAPTURE_DOCUMENTS_MAX);
}

/* Finds the documents that a format makes of the output. */
static int find_formatted(const OutputFormat *format, Capture *capture, Arena *arena,
                          const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n, CaptureLoss *ret_loss) {
        scoped(format_result_deinit) FormatResult result = {};
        int r;

        *ret_n = 0;
        *ret_loss = (CaptureLoss){};
        if (capture->is_too_long || buffer_error(&capture->text) < 0 || capture->text.n == 0)
                return 0;
        if (encoding_unify(capture->text.text, &capture->text.n) == ENCODING_FOREIGN) {
                message_print("no indicator submitted: the output " ENCODING_FOREIGN_TEXT);
                return 0;
        }
        r = format_read(format, capture->text.text, capture->text.n, arena, &result);
        if (r == FORMAT_WRONG)
                message_print("no indicator submitted: output:%u: %s", result.line, result.error);
        if (r != 0)
                return r < 0 ? r : 0;
        for (; *ret_n < result.n && *ret_n < CAPTURE_DOCUMENTS_MAX; ++*ret_n)
                ret[*ret_n] = result.documents[*ret_n].value;
        ret_loss->is_cut = *ret_n < result.n;
        if (result.n_left_out > 0)
                message_print("output: " FORMAT_LEFT_OUT_TEXT, result.n_left_out, result.left_out_by);
        if (result.n_null > 0)
                message_print("output: " FORMAT_NULL_TEXT, result.n_null);
        return 0;
}

/* The output of a failed run is used only if it is a valid document. */
static int take_document(const Value *document, const RunPlace *place, Arena *arena, Submission *item,
                         Complaint *complaint) {
        const IndicatorGiven given = { .component = place->component, .version = place->version };
        int r = 0;

        if (submission_has_failed(item) && document)
                r = object_builder_add_given(document, arena, &document, complaint);
        if (r != 0)
                return r;
        if (submission_has_failed(item))
                return indicator_from_failed_run(document, &given, DOCUMENT_LIMITS_NONE, &item->indicator, complaint);

        if (place->version)
                r = object_builder_complete(document, "version", place->version, arena, &document);
        if (r == 0 && place->component)
                r = object_builder_complete(document, "component", place->component, arena, &document);
        if (r == 0)
                r = object_builder_add_given(document, arena, &document, complaint);
        return r == 0 ? indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item->indicator, complaint) : r;
}

/* The documents that are indicators; the others are spoken of. */
static int take_documents(RunResults *results, const RunResultsPlan *plan, const Submission *common,
                          const Value *const *documents, size_t n) {
        bool is_noted = false;
        Complaint complaint;
        int r;

        for (size_t i = 0; i < n; i++) {
                Submission *item = &results->items[results->n_items];

                *item = *common;
                r = take_document(documents[i], plan->place, &results->arena, item, &complaint);
                if (r == INDICATOR_INVALID) {
                        message_print("an indicator in the output was not submitted: %s%s%s", complaint.path,
                                      complaint.path[0] ? ": " : "", complaint.text);
                        continue;
                }
                if (r == 0 && item->batch_index == 0)
                        component_note(&item->indicator, &is_noted);
                if (r == 0)
                        r = id_make_result(item->time_ms, item->id);
                if (r < 0)
                        return r;
                results->n_items++;
        }
        return 0;
}

/* Returns the stack of the run, with the builds that its documents name; NULL: unknown. */
static int find_stack(const SubmissionStack *stack, const Value *const *documents, size_t n, Arena *arena,
                      const SubmissionStack **ret) {
        SubmissionStack *own = stack ? arena_alloc(arena, sizeof(*own)) : NULL;
        int r;

        *ret = stack;
        if (!own)
                return stack ? -ENOMEM : 0;
        *own = *stack;
        r = run_stack_add_builds(stack->document, documents, n, arena, &own->document);
        if (r == 0 && own->document != stack->document)
                *ret = own;
        return r;
}

static int add_failed_run(RunResults *results, const Submission *common) {
        results->items[0] = *common;
        results->n_items = 1;
        results->is_unnamed = true;
        return id_make_result(common->time_ms, results->items[0].id);
}

int run_results_read(RunResults *ret, const RunResultsPlan *plan, Capture *capture, const RunFacts *facts,
                     int exit_status, uint32_t index) {
        Submission common = {
                .job = plan->job,
                .time_ms = facts->end_realtime_ns / NS_PER_MS,
                .has_exit_status = true,
                .exit_status = exit_status,
                .has_batch = plan->has_batch,
                .batch_index = plan->has_batch ? index : 0,
                .specification = plan->place->specification,
        };
        const SubmissionStack *stack = plan->place->stack;
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        CaptureLoss loss;
        size_t n;
        int r;

        *ret = (RunResults){};
        memcpy(common.batch, plan->batch, sizeof(common.batch));
        r = arena_init(&ret->arena, 2 * value_parse_arena_size(capture->text.n) + RUN_RECORD_ARENA_BYTES +
                                            COMMAND_RESULT_ARENA_BYTES +
                                            (plan->format ? format_arena_size(capture->text.n) : 0) +
                                            (stack ? sizeof(*stack) + run_stack_builds_size(stack->document) : 0));
        if (r == 0)
                r = plan->format ? find_formatted(plan->format, capture, &ret->arena, documents, &n, &loss) :
                                   capture_find(capture, &ret->arena, documents, &n, &loss);
        if (r == 0)
                report_lost_output(capture, &loss, plan->is_wanted && n == 0 && exit_status == 0 &&
                                                   (!plan->format || capture->is_too_long));
        if (r == 0 && n == 0 && exit_status == 0 && plan->benchmark && !capture->names_result && !loss.names_result) {
                r = command_result_make(plan->benchmark, facts, &ret->arena, &documents[0]);
                n = 1;
        }
        if (r == 0 && n == 0 && !(plan->keeps_failed && exit_status != 0))
                return 0;
        if (r == 0)
                r = make_record(plan->place, facts, &ret->arena, &common.run);
        if (r == 0)
                r = find_stack(stack, documents, n, &ret->arena, &common.stack);
        if (r < 0)
                return r;

        ret->items = calloc(n > 0 ? n : 1, sizeof(*ret->items));
        if (!ret->items)
                return -ENOMEM;
        r = take_documents(ret, plan, &common, documents, n);
        return r == 0 && ret->n_items == 0 && plan->keeps_failed && exit_status != 0 ? add_failed_run(ret, &common) : r;
}
