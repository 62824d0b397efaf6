/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec_stacks.h"

#include <stdio.h>

#include "document/value_parse.h"
#include "ingest/refuse.h"

#define STACKS "submit.stacks"

static int refuse_stack(Decoded *decoded, size_t i, const Complaint *complaint) {
        char path[sizeof(STACKS "[]..") + 20 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), STACKS "[%zu]%s%s", i, complaint->path[0] ? "." : "", complaint->path);
        return refuse(&decoded->refusal, STATUS_INVALID, path, "%s", complaint->text);
}

static int take_stack(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *from, size_t i, SubmissionStack *ret) {
        scoped(buffer_deinit) Buffer form = {};
        const Value *document;
        Complaint complaint;
        bool is_canonical;
        ValueError error;
        int r;

        r = value_parse((const char *)from->data, from->len, context->arena, &document, &is_canonical, &error);
        if (r == VALUE_NO_ROOM)
                return refuse_no_room(&decoded->refusal);
        if (r != 0) {
                (void)indicator_complain(&complaint, "", "is not valid JSON at byte %zu: %s", error.at, error.text);
                return refuse_stack(decoded, i, &complaint);
        }

        r = stack_from_value(document, context->arena, &ret->stack, &complaint);
        if (r == STACK_INVALID)
                return refuse_stack(decoded, i, &complaint);
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
