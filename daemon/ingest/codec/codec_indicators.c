/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_decode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ingest/codec/refuse.h"
#include "proto/perfd.pb-c.h"
#include "value/shorten.h"

#define ITEMS "submit.indicators"
#define TIME_MS_MAX (INT64_MAX / 1000000) /* in the year 2262 */
#define STACKS "submit.stacks"
#define SPECIFICATIONS "submit.specifications"

typedef struct StackArray {
        const SubmissionStack *items; /* in the arena */
        size_t n;
} StackArray;

typedef struct SpecificationArray {
        const Value *const *items; /* objects in the arena */
        size_t n;
} SpecificationArray;

/* --- stacks and specifications, to which several indicators refer --------------------------------- */

static int refuse_document(Decoded *decoded, const char *list, size_t i, const Complaint *complaint) {
        char path[sizeof(SPECIFICATIONS "[]..") + 20 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s[%zu]%s%s", list, i, complaint->path[0] ? "." : "", complaint->path);
        return refuse(&decoded->refusal, STATUS_INVALID, path, "%s", complaint->text);
}

static int take_stack(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from, size_t i,
                      SubmissionStack *ret) {
        scoped(buffer_deinit) Buffer form = {};
        const Value *document;
        Complaint complaint;
        bool unused;
        int r;

        r = codec_decode_json(decoded, context, from, &document, &unused, STACKS "[%zu]", i);
        if (r != 0)
                return r;

        r = stack_from_value(document, context->arena, &ret->stack, &complaint);
        if (r == STACK_INVALID)
                return refuse_document(decoded, STACKS, i, &complaint);
        if (r == 0)
                r = stack_put_canonical(&ret->stack, &form);
        if (r < 0)
                return refuse_no_room(&decoded->refusal);
        ret->n_bytes = form.n;
        stack_digest(&form, ret->digest);
        return 0;
}

static int decode_stacks(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *stacks, size_t n,
                        StackArray *ret) {
        SubmissionStack *items;
        int r = 0;

        if (n > SUBMIT_STACKS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, STACKS,
                              "has %zu stacks, may have up to %u: send more requests", n, SUBMIT_STACKS_MAX);
        items = arena_alloc(context->arena, (n + 1) * sizeof(*items));
        if (!items)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < n && r == 0; i++)
                r = take_stack(decoded, context, &stacks[i], i, &items[i]);
        if (r == 0)
                *ret = (StackArray){ items, n };
        return r;
}

static int decode_specifications(Decoded *decoded, const DecodeContext *context,
                                 const ProtobufCBinaryData *specifications, size_t n, SpecificationArray *ret) {
        Complaint complaint;
        const Value **items;
        bool unused;
        int r;

        if (n > SUBMIT_SPECIFICATIONS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, SPECIFICATIONS,
                              "has %zu specifications, may have up to %u: send more "
                              "requests", n, SUBMIT_SPECIFICATIONS_MAX);
        items = arena_alloc(context->arena, (n + 1) * sizeof(*items));
        if (!items)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < n; i++) {
                r = codec_decode_json(decoded, context, &specifications[i], &items[i], &unused, SPECIFICATIONS "[%zu]",
                                      i);
                if (r == 0 && indicator_check_object(items[i], (DocumentLimits){ SIZE_MAX, context->limits.n_keys },
                                                     &complaint) != 0)
                        r = refuse_document(decoded, SPECIFICATIONS, i, &complaint);
                if (r != 0)
                        return r;
        }
        *ret = (SpecificationArray){ items, n };
        return 0;
}

/* --- documents ----------------------------------------------------------------------------------- */

/* Decodes a JSON object in a field of the i-th indicator. ret_text: the object's text, if it can be stored
 * unchanged. */
static int parse_field(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from, size_t i,
                       const char *field, const Value **ret, JsonText *ret_text) {
        bool is_canonical;
        int r;

        r = codec_decode_json(decoded, context, from, ret, &is_canonical, ITEMS "[%zu].%s", i, field);
        if (r == 0)
                *ret_text = is_canonical ? (JsonText){ (const char *)from->data, from->len } : (JsonText){};
        return r;
}

/* complaint: with a place inside the object; field: the place of the object. */
static int refuse_inside(Decoded *decoded, size_t i, const char *before, const Complaint *complaint,
                         const char *field) {
        char path[16 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s%s", before, complaint->path);
        return refuse_item(&decoded->refusal, ITEMS, i, complaint->path[0] ? path : field, "%s", complaint->text);
}

static int take_document(Decoded *decoded, const DecodeContext *context, const Perfd__V1__Indicator *from, size_t i,
                         Submission *ret) {
        const IndicatorGiven given = { from->name, from->component, from->version };
        const Value *document = NULL;
        Complaint complaint;
        int r = 0;

        if (from->document.len == 0 && !submission_has_failed(ret))
                return refuse_item(&decoded->refusal, ITEMS, i, "document", "missing");
        if (from->document.len > 0)
                r = parse_field(decoded, context, &from->document, i, "document", &document, &ret->document_text);
        if (r != 0)
                return r;

        if (submission_has_failed(ret))
                r = indicator_from_failed_run(document, &given, context->limits, &ret->indicator, &complaint);
        else
                r = indicator_from_value(document, context->limits, &ret->indicator, &complaint);
        if (r != 0)
                return refuse_inside(decoded, i, "", &complaint, "document");
        if (!ret->indicator.component)
                return 0;

        ret->indicator.written_component = ret->indicator.component;
        ret->indicator.component = indicator_folded_component(ret->indicator.component, context->arena);
        return ret->indicator.component ? 0 : refuse_no_room(&decoded->refusal);
}

/* Cuts texts in the record that are too long, because the runner wrote them; in the script's own document, they are
 * refused. */
static int take_run(Decoded *decoded, const DecodeContext *context, const Perfd__V1__Indicator *from, size_t i,
                    Submission *ret) {
        const Value *whole;
        Complaint complaint;
        int r;

        if (from->run.len == 0)
                return 0;
        r = parse_field(decoded, context, &from->run, i, "run", &whole, &ret->run_text);
        if (r != 0)
                return r;
        r = indicator_check_object(whole, (DocumentLimits){ SIZE_MAX, context->limits.n_keys }, &complaint);
        if (r != 0)
                return refuse_inside(decoded, i, "run.", &complaint, "run");

        if (shorten_value(whole, context->limits.string_bytes, context->arena, &ret->run) != 0)
                return refuse_no_room(&decoded->refusal);
        if (ret->run != whole)
                ret->run_text = (JsonText){};
        return 0;
}

/* --- submissions --------------------------------------------------------------------------------- */

#define HAS_EXIT_STATUS(from) ((from)->exit_status_given_case == PERFD__V1__INDICATOR__EXIT_STATUS_GIVEN_EXIT_STATUS)

static int check_item(Answer *refusal, const Perfd__V1__Indicator *from, size_t i) {
        static const uint8_t own[RESULT_ID_OWN_BYTES];

        if (from->id.len != RESULT_ID_BYTES)
                return refuse_item(refusal, ITEMS, i, "id", "has %zu bytes, must have %u chosen at random",
                                   from->id.len, RESULT_ID_BYTES);
        if (memcmp(from->id.data, own, sizeof(own)) == 0)
                return refuse_item(refusal, ITEMS, i, "id",
                                   "begins with %u zero bytes, as only those of perfd's own results do: choose %u "
                                   "bytes at random",
                                   RESULT_ID_OWN_BYTES, RESULT_ID_BYTES);
        if (from->job[0] != '\0' && !indicator_name_is_valid(from->job, JOB_ID_MAX - 1))
                return refuse_item(refusal, ITEMS, i, "job", "is not valid: a job's id is 1 to %d " REFUSE_NAME_RULE,
                                   JOB_ID_MAX - 1);
        if (from->time_ms > TIME_MS_MAX)
                return refuse_item(refusal, ITEMS, i, "time_ms",
                                   "is after the year 2261: give milliseconds since 1970, or 0 for now");
        if (HAS_EXIT_STATUS(from) && (from->exit_status < 0 || from->exit_status > 255))
                return refuse_item(refusal, ITEMS, i, "exit_status", "is %d, must be 0 to 255 as in a shell",
                                   from->exit_status);
        if (from->batch.len != 0 && from->batch.len != RESULT_ID_BYTES)
                return refuse_item(refusal, ITEMS, i, "batch",
                                   "has %zu bytes, must have %u that all runs of the batch share, or none",
                                   from->batch.len, RESULT_ID_BYTES);
        if (from->batch.len == 0 && from->index != 0)
                return refuse_item(refusal, ITEMS, i, "index", "is %u without a batch: add the batch id of 16 bytes",
                                   from->index);

        return 0;
}

/* Documents that the items of a submission may refer to. */
typedef struct Shared {
        StackArray stacks;
        SpecificationArray specifications;
} Shared;

static int take_shared(Decoded *decoded, const Shared *shared, const Perfd__V1__Indicator *from, size_t i,
                       Submission *ret) {
        const StackArray *stacks = &shared->stacks;
        const SpecificationArray *specifications = &shared->specifications;

        if (from->stack > stacks->n)
                return refuse_item(&decoded->refusal, ITEMS, i, "stack", "is %u, and the submission has %zu stacks",
                                   from->stack, stacks->n);
        if (from->specification > specifications->n)
                return refuse_item(&decoded->refusal, ITEMS, i, "specification",
                                   "is %u, and the submission has %zu specifications", from->specification,
                                   specifications->n);

        ret->stack = from->stack > 0 ? &stacks->items[from->stack - 1] : NULL;
        ret->specification = from->specification > 0 ? specifications->items[from->specification - 1] : NULL;
        return 0;
}

static int take_item(Decoded *decoded, const DecodeContext *context, const Shared *shared,
                     const Perfd__V1__Indicator *from, size_t i, Submission *ret) {
        int r;

        r = check_item(&decoded->refusal, from, i);
        if (r != 0)
                return r;

        memcpy(ret->id, from->id.data, sizeof(ret->id));
        ret->job = from->job;
        ret->is_job_inherited = from->inherited;
        ret->time_ms = from->time_ms;
        ret->has_exit_status = HAS_EXIT_STATUS(from);
        ret->exit_status = ret->has_exit_status ? from->exit_status : 0;
        ret->has_batch = from->batch.len > 0;
        if (ret->has_batch)
                memcpy(ret->batch, from->batch.data, sizeof(ret->batch));
        ret->batch_index = from->index;
        ret->replaces = from->replace;

        r = take_shared(decoded, shared, from, i, ret);
        if (r == 0)
                r = take_document(decoded, context, from, i, ret);
        return r == 0 ? take_run(decoded, context, from, i, ret) : r;
}

int codec_decode_submit(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Submit *from = (const Perfd__V1__Submit *)message;
        Answer *refusal = &decoded->refusal;
        Submission *items;
        Shared shared;
        int r;

        assert(message->descriptor == &perfd__v1__submit__descriptor);
        if (from->n_indicators == 0)
                return refuse(refusal, STATUS_INVALID, ITEMS, "is empty: add at least one");
        if (from->n_indicators > SUBMIT_ITEMS_MAX)
                return refuse(refusal, STATUS_TOO_LARGE, ITEMS,
                              "has %zu indicators, may have up to %u: send more requests", from->n_indicators,
                              SUBMIT_ITEMS_MAX);

        r = decode_stacks(decoded, context, from->stacks, from->n_stacks, &shared.stacks);
        if (r == 0)
                r = decode_specifications(decoded, context, from->specifications, from->n_specifications,
                                                       &shared.specifications);
        if (r != 0)
                return r;

        items = arena_alloc(context->arena, from->n_indicators * sizeof(*items));
        if (!items)
                return refuse_no_room(refusal);

        for (size_t i = 0; i < from->n_indicators; i++) {
                r = take_item(decoded, context, &shared, from->indicators[i], i, &items[i]);
                if (r == 0)
                        continue;
                assert(r == REFUSED);
                refusal->has_item = refusal->complaint.path[0] != '\0'; /* otherwise the whole request is too large */
                refusal->item = refusal->has_item ? (uint32_t)i : 0;
                return r;
        }

        decoded->request.submit.items = items;
        decoded->request.submit.n_items = from->n_indicators;
        decoded->n_work += from->n_indicators * CODEC_WORK_RESULT;
        return 0;
}
