/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/run_results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/message.h"
#include "client/run/object_builder.h"
#include "client/wire/id.h"
#include "util/clock.h"

void run_results_deinit(RunResults *results) {
        free(results->items);
        arena_deinit(&results->arena);
}

/* Reports output that resembles an indicator and is none, and missing indicators where one is required. */
static void speak_of_loss(const Capture *capture, const CaptureLoss *loss, bool is_wanted) {
        if (capture->is_too_long && (is_wanted || capture->names_result))
                message_print("no indicator submitted: the output is longer than %u KiB", CAPTURE_BYTES_MAX / 1024);
        else if (loss->error.line > 0 && (is_wanted || loss->names_result))
                message_print("%s submitted: output:%u:%u: %s",
                              loss->names_result ? "an indicator in the output was not" : "no indicator was",
                    loss->error.line, loss->error.column, loss->error.text);
        else if (is_wanted)
                message_print("no indicator submitted: the output has no JSON object with @result");
        if (loss->is_cut)
                message_print("the output has more than %u indicators; the rest was not submitted", CAPTURE_DOCUMENTS_MAX);
}

/* The output of a failed run is used only if it is a valid document. */
static int take_document(const Value *document, const char *sha256, Arena *arena, Submission *item, Complaint *complaint) {
        int r = 0;

        if (submission_has_failed(item))
                return indicator_from_failed_run(document, &(IndicatorGiven){ .version = sha256 }, STRING_ANY_BYTES, &item->indicator,
                                                 complaint);

        if (sha256)
                r = object_builder_complete(document, "version", sha256, arena, &document);
        return r == 0 ? indicator_from_value(document, STRING_ANY_BYTES, &item->indicator, complaint) : r;
}

/* The documents that are indicators; the others are spoken of. */
static int take_documents(RunResults *results, const RunResultsPlan *plan, const Submission *common,
                          const Value *const *documents, size_t n) {
        const char *sha256 = plan->place->has_script ? plan->place->script.sha256 : NULL;
        Complaint complaint;
        int r;

        for (size_t i = 0; i < n; i++) {
                Submission *item = &results->items[results->n_items];

                *item = *common;
                r = take_document(documents[i], sha256, &results->arena, item, &complaint);
                if (r == INDICATOR_INVALID) {
                        message_print("an indicator in the output was not submitted: %s%s%s", complaint.path, complaint.path[0] ? ": " : "",
                            complaint.text);
                        continue;
                }
                if (r == 0)
                        r = result_id_make(item->time_ms, item->id);
                if (r < 0)
                        return r;
                results->n_items++;
        }
        return 0;
}

static int take_nothing(RunResults *results, const Submission *common) {
        results->items[0] = *common;
        results->n_items = 1;
        results->is_unnamed = true;
        return result_id_make(common->time_ms, results->items[0].id);
}

int run_results_read(RunResults *ret, const RunResultsPlan *plan, const Capture *capture, const RunFacts *facts, int exit_status,
                  uint32_t index) {
        Submission common = {
                .job = plan->job,
                .time_ms = facts->end_realtime_ns / NS_PER_MS,
                .has_exit_status = true,
                .exit_status = exit_status,
                .has_batch = plan->has_batch,
                .batch_index = plan->has_batch ? index : 0,
        };
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        CaptureLoss loss;
        size_t n;
        int r;

        *ret = (RunResults){};
        memcpy(common.batch, plan->batch, sizeof(common.batch));
        r = arena_init(&ret->arena, 2 * value_parse_arena_size(capture->text.n) + RUN_RECORD_ARENA_BYTES);
        if (r == 0)
                r = capture_find(capture, &ret->arena, documents, &n, &loss);
        if (r == 0)
                speak_of_loss(capture, &loss, plan->is_wanted && n == 0 && exit_status == 0);
        if (r == 0 && n == 0 && !(plan->is_wanted && exit_status != 0))
                return 0;
        if (r == 0)
                r = run_record_make(plan->place, facts, &ret->arena, &common.run);
        if (r < 0)
                return r;

        ret->items = calloc(n > 0 ? n : 1, sizeof(*ret->items));
        if (!ret->items)
                return -ENOMEM;
        r = take_documents(ret, plan, &common, documents, n);
        return r == 0 && ret->n_items == 0 && plan->is_wanted && exit_status != 0 ? take_nothing(ret, &common) : r;
}

bool run_results_name(RunResults *results, const Value *document, const IndicatorGiven *given) {
        Complaint complaint;

        if (indicator_from_failed_run(document, given, STRING_ANY_BYTES, &results->items[0].indicator, &complaint) != 0)
                return false;

        results->is_unnamed = false;
        return true;
}
