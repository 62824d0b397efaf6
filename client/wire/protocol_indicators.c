/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "client/wire/protocol.h"
#include "client/wire/protocol_frame.h"

#define TEXT_OVERHEAD (1U + FRAME_HEADER_MAX) /* tag and length of an item, a stack or a specification */

static void put_object(const Value *object, Buffer *out) {
        value_write_json(object, &(Json){ .out = out });
}

/* The texts of the items, concatenated. Pointers in the messages are set after all texts are written. */
typedef struct ItemTexts {
        Buffer text; /* owned */
        size_t n_taken;
} ItemTexts;

static ProtobufCBinaryData next_text(ItemTexts *texts, size_t n) {
        ProtobufCBinaryData data = { .len = n, .data = (uint8_t *)texts->text.text + texts->n_taken };

        assert(n <= texts->text.n - texts->n_taken);
        texts->n_taken += n;
        return data;
}

/* Sets only the lengths of the texts; their addresses change until all texts are written. */
static void item_to_wire(const Submission *item, ItemTexts *texts, Perfd__V1__Indicator *ret) {
        const Indicator *indicator = &item->indicator;
        size_t n_before = texts->text.n;

        perfd__v1__indicator__init(ret);
        ret->id.data = (uint8_t *)item->id;
        ret->id.len = sizeof(item->id);
        ret->job = (char *)item->job;
        ret->inherited = item->is_job_inherited;
        ret->time_ms = item->time_ms;
        ret->replace = item->replaces;
        if (item->has_exit_status) {
                ret->exit_status_given_case = PERFD__V1__INDICATOR__EXIT_STATUS_GIVEN_EXIT_STATUS;
                ret->exit_status = item->exit_status;
        }
        if (item->has_batch) {
                ret->batch.data = (uint8_t *)item->batch;
                ret->batch.len = sizeof(item->batch);
                ret->index = item->batch_index;
        }
        if (submission_has_failed(item)) { /* the document of a failed run may lack name and component */
                ret->name = (char *)indicator->name;
                if (indicator->component)
                        ret->component = (char *)indicator->component;
                if (indicator->version)
                        ret->version = (char *)indicator->version;
        }

        if (indicator->document)
                put_object(indicator->document, &texts->text);
        ret->document.len = texts->text.n - n_before;
        if (item->run)
                put_object(item->run, &texts->text);
        ret->run.len = texts->text.n - n_before - ret->document.len;
}

#define DOCUMENTS_MAX SUBMIT_STACKS_MAX
_Static_assert(SUBMIT_SPECIFICATIONS_MAX <= DOCUMENTS_MAX, "a list has room for the specifications");

/* Documents that several items refer to, each once. */
typedef struct WireDocuments {
        const Value *items[DOCUMENTS_MAX];
        ProtobufCBinaryData texts[DOCUMENTS_MAX];
        size_t n;
} WireDocuments;

static const Value *stack_of(const Submission *item) {
        return item && item->stack ? item->stack->document : NULL;
}

/* Returns the number of the document, from 1; 0: NULL, or the list does not have it. */
static uint32_t number_of(const WireDocuments *list, const Value *document) {
        size_t n = document ? list->n : 0;

        while (n > 0 && list->items[n - 1] != document)
                n--;
        return (uint32_t)n;
}

/* Sets only the length of the text, as above. */
static void add_document(WireDocuments *list, const Value *document, ItemTexts *texts) {
        size_t n_before = texts->text.n;

        if (!document || number_of(list, document) > 0)
                return;
        assert(list->n < DOCUMENTS_MAX);
        put_object(document, &texts->text);
        list->texts[list->n] = (ProtobufCBinaryData){ .len = texts->text.n - n_before };
        list->items[list->n++] = document;
}

static void set_texts(WireDocuments *list, ItemTexts *texts) {
        for (size_t i = 0; i < list->n; i++)
                list->texts[i] = next_text(texts, list->texts[i].len);
}

static int put_submit(uint64_t sequence, const Submission *items, size_t n_items, ItemTexts *texts,
                      Perfd__V1__Indicator *indicators, Perfd__V1__Indicator **pointers, Buffer *out) {
        Perfd__V1__Submit submit = PERFD__V1__SUBMIT__INIT;
        WireDocuments stacks = {}, specifications = {};

        for (size_t i = 0; i < n_items; i++)
                add_document(&stacks, stack_of(&items[i]), texts);
        for (size_t i = 0; i < n_items; i++)
                add_document(&specifications, items[i].specification, texts);
        for (size_t i = 0; i < n_items; i++)
                item_to_wire(&items[i], texts, &indicators[i]);
        if (buffer_error(&texts->text) < 0)
                return -ENOMEM;

        set_texts(&stacks, texts);
        set_texts(&specifications, texts);
        for (size_t i = 0; i < n_items; i++) {
                pointers[i] = &indicators[i];
                indicators[i].document = next_text(texts, indicators[i].document.len);
                indicators[i].run = next_text(texts, indicators[i].run.len);
                indicators[i].stack = number_of(&stacks, stack_of(&items[i]));
                indicators[i].specification = number_of(&specifications, items[i].specification);
        }

        submit.n_indicators = n_items;
        submit.indicators = pointers;
        submit.n_stacks = stacks.n;
        submit.stacks = stacks.texts;
        submit.n_specifications = specifications.n;
        submit.specifications = specifications.texts;
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_SUBMIT, &submit, out);
}

int protocol_encode_submit(uint64_t sequence, const Submission *items, size_t n_items, Buffer *out) {
        scoped(freep) Perfd__V1__Indicator *indicators = calloc(n_items, sizeof(*indicators));
        scoped(freep) Perfd__V1__Indicator **pointers = calloc(n_items, sizeof(*pointers));
        ItemTexts texts = {};
        int r = -ENOMEM;

        if (indicators && pointers)
                r = put_submit(sequence, items, n_items, &texts, indicators, pointers, out);
        buffer_deinit(&texts.text);
        return r;
}

/* Returns the bytes that a document adds to a frame with the document before. */
static size_t size_of_document(const Value *document, const Value *before, Buffer *room) {
        if (!document || document == before)
                return 0;

        buffer_clear(room);
        put_object(document, room);
        return room->n + TEXT_OVERHEAD;
}

int protocol_submission_size(const Submission *item, const Submission *before, size_t *ret) {
        Perfd__V1__Indicator indicator;
        ItemTexts texts = {};
        size_t n;
        int r;

        n = size_of_document(stack_of(item), stack_of(before), &texts.text);
        n += size_of_document(item->specification, before ? before->specification : NULL, &texts.text);
        item_to_wire(item, &texts, &indicator);
        indicator.stack = item->stack ? SUBMIT_STACKS_MAX : 0;
        indicator.specification = item->specification ? SUBMIT_SPECIFICATIONS_MAX : 0;
        r = buffer_error(&texts.text);
        buffer_deinit(&texts.text);
        if (r == 0)
                *ret = perfd__v1__indicator__get_packed_size(&indicator) + TEXT_OVERHEAD + n;
        return r;
}

int protocol_encode_register(uint64_t sequence, const Value *const *models, size_t n_models, Buffer *out) {
        scoped(freep) ProtobufCBinaryData *texts = calloc(n_models, sizeof(*texts));
        Perfd__V1__Register body = PERFD__V1__REGISTER__INIT;
        ItemTexts all = {};
        int r = -ENOMEM;

        for (size_t i = 0; texts && i < n_models; i++) {
                size_t n_before = all.text.n;

                put_object(models[i], &all.text);
                texts[i].len = all.text.n - n_before;
        }
        if (texts && buffer_error(&all.text) == 0) {
                for (size_t i = 0; i < n_models; i++)
                        texts[i] = next_text(&all, texts[i].len);
                body.model = texts;
                body.n_model = n_models;
                r = protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_REGISTER, &body, out);
        }
        buffer_deinit(&all.text);
        return r;
}

int protocol_encode_unregister(uint64_t sequence, const char *name, const char *component, Buffer *out) {
        Perfd__V1__Unregister body = PERFD__V1__UNREGISTER__INIT;

        body.name = (char *)name;
        body.component = (char *)component;
        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_UNREGISTER, &body, out);
}
