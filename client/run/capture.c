/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/capture.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "text/encoding.h"

/* Limit of text that is parsed in vain: output that is nearly JSON must not delay the end of a job. */
#define WASTE_BYTES_MAX (4U * CAPTURE_BYTES_MAX)

void capture_deinit(Capture *capture) {
        buffer_deinit(&capture->text);
}

void capture_clear(Capture *capture) {
        buffer_clear(&capture->text);
        *capture = (Capture){ .text = capture->text };
}

static const char result_key[] = "\"@result\"";
#define RESULT_KEY_BYTES (sizeof(result_key) - 1)

static void match(Capture *capture, const char *bytes, size_t n) {
        for (size_t i = 0; i < n && !capture->names_result; i++) {
                assert(capture->n_matched < RESULT_KEY_BYTES);
                if (bytes[i] == result_key[capture->n_matched])
                        capture->n_matched++;
                else
                        capture->n_matched = bytes[i] == '"';
                capture->names_result = capture->n_matched == RESULT_KEY_BYTES;
        }
}

/* Bytes come in pieces, so that the key may be in two of them. */
static void look_for_result(Capture *capture, const char *bytes, size_t n) {
        if (n < RESULT_KEY_BYTES) {
                match(capture, bytes, n);
                return;
        }

        match(capture, bytes, RESULT_KEY_BYTES - 1);
        capture->names_result |= memmem(bytes, n, result_key, RESULT_KEY_BYTES) != NULL;
        capture->n_matched = 0;
        match(capture, bytes + n - (RESULT_KEY_BYTES - 1), RESULT_KEY_BYTES - 1);
}

void capture_add(Capture *capture, const void *bytes, size_t n) {
        assert(capture->is_too_long || capture->text.n <= CAPTURE_BYTES_MAX);
        if (!capture->is_too_long && n > CAPTURE_BYTES_MAX - capture->text.n) {
                capture->is_too_long = true;
                look_for_result(capture, capture->text.text, capture->text.n);
                buffer_deinit(&capture->text);
        }
        if (capture->is_too_long) {
                if (!capture->names_result)
                        look_for_result(capture, bytes, n);
                return;
        }

        buffer_put(&capture->text, bytes, n);
}

/* A malformed document ends at most at the next line that begins with a brace. */
static void record_loss(CaptureLoss *loss, const ValueReader *reader, const ValueError *error) {
        ValueReader next = *reader;
        bool names_result;

        value_parse_skip_line(&next);
        (void)value_parse_seek(&next);
        names_result = memmem(reader->text + reader->at, next.at - reader->at, result_key, RESULT_KEY_BYTES);
        if (names_result || !loss->names_result)
                *loss = (CaptureLoss){ .error = *error,
                                       .names_result = names_result,
                                       .n_not_finite = loss->n_not_finite };
}

static bool has_more(const ValueReader *reader) {
        return memmem(reader->text + reader->at, reader->n - reader->at, result_key, RESULT_KEY_BYTES);
}

/* Adds an object with a result, or those of a list. */
static void add_documents(const Value *value, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *n) {
        if (value->type == VALUE_LIST)
                for (size_t i = 0; i < value->n_items && *n < CAPTURE_DOCUMENTS_MAX; i++)
                        add_documents(&value->items[i], ret, n);
        else if (value_get(value, "@result") && *n < CAPTURE_DOCUMENTS_MAX)
                ret[(*n)++] = value;
}

int capture_find(Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 CaptureLoss *ret_loss) {
        ValueReader reader;
        ValueError error;
        size_t n = 0, n_wasted = 0;
        int r;

        *ret_n = 0;
        *ret_loss = (CaptureLoss){};
        if (capture->is_too_long || buffer_error(&capture->text) < 0 || capture->text.n == 0)
                return 0;
        if (encoding_unify(capture->text.text, &capture->text.n) == ENCODING_FOREIGN) {
                ret_loss->error.line = 1;
                (void)snprintf(ret_loss->error.text, sizeof(ret_loss->error.text), ENCODING_FOREIGN_TEXT);
                return 0;
        }

        value_parse_begin(&reader, capture->text.text, capture->text.n);
        while (n < CAPTURE_DOCUMENTS_MAX && n_wasted < WASTE_BYTES_MAX && value_parse_seek(&reader)) {
                const Value *value;

                r = value_parse_next(&reader, arena, &value, &error);
                if (r == VALUE_NO_ROOM)
                        break;
                if (r < 0)
                        return r;
                if (r == 0) {
                        size_t n_before = n;

                        add_documents(value, ret, &n);
                        ret_loss->n_not_finite += n > n_before ? reader.n_not_finite : 0;
                }
                if (r == VALUE_MALFORMED) {
                        n_wasted += error.at - reader.at;
                        record_loss(ret_loss, &reader, &error);
                        value_parse_skip_line(&reader);
                }
        }

        ret_loss->is_cut = n == CAPTURE_DOCUMENTS_MAX && has_more(&reader);
        *ret_n = n;
        return 0;
}
