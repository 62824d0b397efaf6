/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec_decode.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "document/value_parse.h"
#include "ingest/refuse.h"
#include "proto/perfd.pb-c.h"

#define MODEL "register.model"

static int refuse_model(Answer *refusal, const Complaint *complaint) {
        char path[16 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "register.%s", complaint->path[0] ? complaint->path : "model");
        return refuse(refusal, STATUS_INVALID, path, "%s", complaint->text);
}

int codec_decode_register(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Register *from = (const Perfd__V1__Register *)message;
        IndicatorModel *model = arena_alloc(context->arena, sizeof(*model));
        Answer *refusal = &decoded->refusal;
        const Value *document;
        Complaint complaint;
        bool is_canonical;
        ValueError error;
        int r;

        assert(message->descriptor == &perfd__v1__register__descriptor);
        if (from->model.len == 0)
                return refuse(refusal, STATUS_INVALID, MODEL, "missing");

        r = model ? value_parse((const char *)from->model.data, from->model.len, context->arena, &document, &is_canonical, &error)
                  : VALUE_NO_ROOM;
        if (r == VALUE_NO_ROOM)
                return refuse_no_room(refusal);
        if (r == VALUE_MALFORMED)
                return refuse(refusal, STATUS_INVALID, MODEL, "is not valid JSON at byte %zu: %s", error.at, error.text);

        r = indicator_model_from_value(document, context->arena, model, &complaint);
        if (r == -ENOMEM)
                return refuse_no_room(refusal);
        if (r != 0)
                return refuse_model(refusal, &complaint);

        decoded->request.register_model.model = model;
        decoded->n_work = CODEC_WORK_MODEL;
        return 0;
}

int codec_decode_unregister(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Unregister *from = (const Perfd__V1__Unregister *)message;
        int r;

        assert(message->descriptor == &perfd__v1__unregister__descriptor);
        decoded->n_work = CODEC_WORK_MODEL;
        decoded->request.unregister_model.name = from->name;
        if (!from->name[0])
                return refuse(&decoded->refusal, STATUS_INVALID, "unregister.name", "missing");

        r = refuse_bad_text(&decoded->refusal, "unregister.name", from->name, NAME_MAX_BYTES);
        if (r == 0)
                r = refuse_bad_text(&decoded->refusal, "unregister.component", from->component, COMPONENT_MAX_BYTES);
        if (r != 0 || !from->component[0])
                return r;

        decoded->request.unregister_model.component = indicator_folded_component(from->component, context->arena);
        return decoded->request.unregister_model.component ? 0 : refuse_no_room(&decoded->refusal);
}
