/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/capture.h"

#include <assert.h>
#include <string.h>

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

static size_t count_blanks(const char *text, size_t n) {
        size_t i = 0;

        while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
                i++;
        return i;
}

/*
 * Moves to the next place where a document may begin: a `{` that follows only blanks at the start of a line, or the document
 * before it. The reader is at one of these, or at the end of a line.
 */
static bool seek_object(ValueReader *reader) {
        const char *text = reader->text;

        while (reader->at < reader->n) {
                size_t n_blanks = count_blanks(text + reader->at, reader->n - reader->at);
                const char *end;

                reader->at += n_blanks;
                reader->column += (unsigned)n_blanks;
                if (reader->at < reader->n && text[reader->at] == '{')
                        return true;

                end = memchr(text + reader->at, '\n', reader->n - reader->at);
                if (!end)
                        return false;
                reader->at = (size_t)(end - text) + 1;
                reader->line++;
                reader->column = 1;
        }

        return false;
}

/* Moves to the end of the line. */
static void skip_line(ValueReader *reader) {
        const char *end = memchr(reader->text + reader->at, '\n', reader->n - reader->at);

        reader->at = end ? (size_t)(end - reader->text) : reader->n;
}

/* A malformed document ends at most at the next line that begins with a brace. */
static void record_loss(CaptureLoss *loss, const ValueReader *reader, const ValueError *error) {
        ValueReader next = *reader;
        bool names_result;

        skip_line(&next);
        (void)seek_object(&next);
        names_result = memmem(reader->text + reader->at, next.at - reader->at, result_key, RESULT_KEY_BYTES);
        if (names_result || !loss->names_result)
                *loss = (CaptureLoss){ .error = *error, .names_result = names_result };
}

static bool has_more(const ValueReader *reader) {
        return memmem(reader->text + reader->at, reader->n - reader->at, result_key, RESULT_KEY_BYTES);
}

int capture_find(const Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 CaptureLoss *ret_loss) {
        ValueReader reader;
        ValueError error;
        size_t n = 0, n_wasted = 0;
        int r;

        *ret_n = 0;
        *ret_loss = (CaptureLoss){};
        if (capture->is_too_long || buffer_error(&capture->text) < 0 || capture->text.n == 0)
                return 0;

        value_parse_begin(&reader, capture->text.text, capture->text.n);
        while (n < CAPTURE_DOCUMENTS_MAX && n_wasted < WASTE_BYTES_MAX && seek_object(&reader)) {
                r = value_parse_next(&reader, arena, &ret[n], &error);
                if (r == VALUE_NO_ROOM)
                        break;
                if (r < 0)
                        return r;
                if (r == 0 && value_get(ret[n], "@result"))
                        n++;
                if (r == VALUE_MALFORMED) {
                        n_wasted += error.at - reader.at;
                        record_loss(ret_loss, &reader, &error);
                        skip_line(&reader);
                }
        }

        ret_loss->is_cut = n == CAPTURE_DOCUMENTS_MAX && has_more(&reader);
        *ret_n = n;
        return 0;
}
