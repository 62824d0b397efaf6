/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_stacks.h"

#include <stdio.h>

#include "ingest/codec/refuse.h"
#include "value/value_parse.h"

#define STACKS "submit.stacks"
#define SPECIFICATIONS "submit.specifications"

static int refuse_document(Decoded *decoded, const char *list, size_t i, const Complaint *complaint) {
        char path[sizeof(SPECIFICATIONS "[]..") + 20 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s[%zu]%s%s", list, i, complaint->path[0] ? "." : "", complaint->path);
        return refuse(&decoded->refusal, STATUS_INVALID, path, "%s", complaint->text);
}

static int parse(Decoded *decoded, const DecodeContext *context, const char *list, const ProtobufCBinaryData *from, size_t i,
                 const Value **ret) {
        Complaint complaint;
        bool is_canonical;
        ValueError error;
        int r;

        r = value_parse((const char *)from->data, from->len, context->arena, ret, &is_canonical, &error);
        if (r == VALUE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        if (r == 0)
                return 0;
        (void)indicator_complain(&complaint, "", "is not valid JSON at byte %zu: %s", error.at, error.text);
        return refuse_document(decoded, list, i, &complaint);
}

static int take_stack(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from, size_t i, SubmissionStack *ret) {
        scoped(buffer_deinit) Buffer form = {};
        const Value *document;
        Complaint complaint;
        int r;

        r = parse(decoded, context, STACKS, from, i, &document);
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

int codec_stacks_decode(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *stacks, size_t n,
                        StackArray *ret) {
        SubmissionStack *items;
        int r = 0;

        if (n > SUBMIT_STACKS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, STACKS, "has %zu stacks, may have up to %u: send more requests", n,
                              SUBMIT_STACKS_MAX);
        items = arena_alloc(context->arena, (n + 1) * sizeof(*items));
        if (!items)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < n && r == 0; i++)
                r = take_stack(decoded, context, &stacks[i], i, &items[i]);
        if (r == 0)
                *ret = (StackArray){ items, n };
        return r;
}

int codec_stacks_decode_specifications(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *specifications,
                                       size_t n, SpecificationArray *ret) {
        Complaint complaint;
        const Value **items;
        int r;

        if (n > SUBMIT_SPECIFICATIONS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, SPECIFICATIONS,
                              "has %zu specifications, may have up to %u: send more requests", n, SUBMIT_SPECIFICATIONS_MAX);
        items = arena_alloc(context->arena, (n + 1) * sizeof(*items));
        if (!items)
                return refuse_no_room(&decoded->refusal);

        for (size_t i = 0; i < n; i++) {
                r = parse(decoded, context, SPECIFICATIONS, &specifications[i], i, &items[i]);
                if (r == 0 && indicator_check_object(items[i], (DocumentLimits){ SIZE_MAX, context->limits.n_keys }, &complaint) != 0)
                        r = refuse_document(decoded, SPECIFICATIONS, i, &complaint);
                if (r != 0)
                        return r;
        }
        *ret = (SpecificationArray){ items, n };
        return 0;
}
