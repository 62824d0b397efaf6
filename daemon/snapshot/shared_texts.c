/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/shared_texts.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>

struct SharedText {
        atomic_uint n_refs;
        size_t n;
        char *text; /* owned */
};

struct SharedTexts {
        atomic_uint n_refs;
        SharedText *head, *tail;
        size_t n, n_max;
        SharedText *parts[];
};

int shared_text_new(SharedText **ret, Buffer *text) {
        SharedText *shared = malloc(sizeof(*shared));
        size_t n = text->n;
        char *taken = buffer_take(text);

        if (!shared || !taken) {
                free(shared);
                free(taken);
                return -ENOMEM;
        }
        *shared = (SharedText){ .n_refs = 1, .n = n, .text = taken };
        *ret = shared;
        return 0;
}

SharedText *shared_text_ref(SharedText *text) {
        atomic_fetch_add(&text->n_refs, 1);
        return text;
}

const char *shared_text_get(const SharedText *text, size_t *ret_n) {
        *ret_n = text->n;
        return text->text;
}

SharedText *shared_text_unref(SharedText *text) {
        if (text && atomic_fetch_sub(&text->n_refs, 1) == 1) {
                free(text->text);
                free(text);
        }
        return NULL;
}

int shared_texts_new(SharedTexts **ret, size_t n_max, SharedText *head, SharedText *tail) {
        SharedTexts *texts = malloc(sizeof(*texts) + n_max * sizeof(texts->parts[0]));

        if (!texts)
                return -ENOMEM;

        *texts = (SharedTexts){
                .n_refs = 1, .n_max = n_max, .head = shared_text_ref(head), .tail = shared_text_ref(tail)
        };
        *ret = texts;
        return 0;
}

void shared_texts_add(SharedTexts *texts, SharedText *part) {
        assert(texts->n < texts->n_max && atomic_load(&texts->n_refs) == 1);
        texts->parts[texts->n++] = shared_text_ref(part);
}

SharedTexts *shared_texts_ref(SharedTexts *texts) {
        atomic_fetch_add(&texts->n_refs, 1);
        return texts;
}

SharedTexts *shared_texts_unref(SharedTexts *texts) {
        if (!texts || atomic_fetch_sub(&texts->n_refs, 1) != 1)
                return NULL;

        for (size_t i = 0; i < texts->n; i++)
                shared_text_unref(texts->parts[i]);
        shared_text_unref(texts->head);
        shared_text_unref(texts->tail);
        free(texts);
        return NULL;
}

void shared_texts_write(const SharedTexts *texts, Buffer *out) {
        buffer_put(out, texts->head->text, texts->head->n);
        for (size_t i = 0; i < texts->n; i++) {
                if (i > 0)
                        buffer_putc(out, ',');
                buffer_put(out, texts->parts[i]->text, texts->parts[i]->n);
        }
        buffer_put(out, texts->tail->text, texts->tail->n);
}
