/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/codec/codec_decode.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "ingest/codec/refuse.h"
#include "proto/perfd.pb-c.h"

#define MODEL "register.model"

static int refuse_model(Answer *refusal, const Complaint *complaint) {
        char path[16 + COMPLAINT_PATH_MAX];

        (void)snprintf(path, sizeof(path), "register.%s", complaint->path[0] ? complaint->path : "model");
        return refuse(refusal, STATUS_INVALID, path, "%s", complaint->text);
}

static int take_model(Decoded *decoded, const DecodeContext *context, const ProtobufCBinaryData *text,
                      IndicatorModel *ret) {
        const Value *document;
        Complaint complaint;
        bool unused;
        int r;

        if (text->len == 0)
                return refuse(&decoded->refusal, STATUS_INVALID, MODEL, "missing");

        r = codec_decode_json(decoded, context, text, &document, &unused, MODEL);
        if (r != 0)
                return r;
        r = indicator_model_from_value(document, context->arena, ret, &complaint);
        if (r == -ENOMEM)
                return refuse_no_room(&decoded->refusal);
        return r == 0 ? 0 : refuse_model(&decoded->refusal, &complaint);
}

int codec_decode_register(Decoded *decoded, const DecodeContext *context, const ProtobufCMessage *message) {
        const Perfd__V1__Register *from = (const Perfd__V1__Register *)message;
        IndicatorModel *models;

        assert(message->descriptor == &perfd__v1__register__descriptor);
        if (from->n_model == 0)
                return refuse(&decoded->refusal, STATUS_INVALID, MODEL, "missing");

        if (from->n_model > REGISTER_MODELS_MAX)
                return refuse(&decoded->refusal, STATUS_TOO_LARGE, MODEL,
                              "is given %zu times, may be given up to %u times: send more "
                              "requests", from->n_model, REGISTER_MODELS_MAX);

        models = arena_alloc(context->arena, from->n_model * sizeof(*models));
        if (!models)
                return refuse_no_room(&decoded->refusal);
        for (size_t i = 0; i < from->n_model; i++) {
                int r = take_model(decoded, context, &from->model[i], &models[i]);

                if (r == 0)
                        continue;
                /* otherwise the whole request is too large */
                decoded->refusal.has_item = decoded->refusal.complaint.path[0] != '\0';
                decoded->refusal.item = decoded->refusal.has_item ? (uint32_t)i : 0;
                return r;
        }

        decoded->request.register_model.models = models;
        decoded->request.register_model.n_models = from->n_model;
        decoded->n_work = from->n_model * CODEC_WORK_MODEL;
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
