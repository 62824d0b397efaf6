#include "client/capture.h"

#include <errno.h>
#include <string.h>

/* What may be read in vain: text that is nearly JSON over and over must not keep a job from ending. */
#define WASTE_BYTES_MAX (4U * CAPTURE_BYTES_MAX)

void capture_deinit(Capture *capture) {
        buffer_deinit(&capture->text);
}

void capture_clear(Capture *capture) {
        buffer_clear(&capture->text);
        capture->is_too_long = false;
}

void capture_add(Capture *capture, const void *bytes, size_t n) {
        if (capture->is_too_long)
                return;

        if (n > CAPTURE_BYTES_MAX - capture->text.n) {
                capture->is_too_long = true;
                buffer_deinit(&capture->text);
                return;
        }

        buffer_put(&capture->text, bytes, n);
}

/* Moves to the next line that begins with `{`, the present one included when the reader is at its beginning. */
static bool seek_object(JsonReader *reader) {
        const char *text = reader->text;

        while (reader->at < reader->n) {
                const char *end;

                if (text[reader->at] == '{' && (reader->at == 0 || text[reader->at - 1] == '\n'))
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

int capture_find(const Capture *capture, Arena *arena, const Value *ret[static CAPTURE_DOCUMENTS_MAX], size_t *ret_n,
                 JsonError *ret_error) {
        JsonReader reader;
        size_t n = 0, n_wasted = 0;
        int r;

        *ret_n = 0;
        *ret_error = (JsonError){};
        if (capture->is_too_long || buffer_error(&capture->text) < 0 || capture->text.n == 0)
                return 0;

        json_reader_init(&reader, capture->text.text, capture->text.n);
        while (n < CAPTURE_DOCUMENTS_MAX && n_wasted < WASTE_BYTES_MAX && seek_object(&reader)) {
                r = json_read(&reader, arena, &ret[n], ret_error);
                if (r == JSON_TOO_LARGE)
                        break;
                if (r < 0)
                        return r;
                if (r == 0 && value_get(ret[n], "@result"))
                        n++;
                if (r == JSON_MALFORMED) {
                        n_wasted += ret_error->at - reader.at;
                        reader.at++; /* past the brace, so that the search goes on */
                        reader.column++;
                }
        }

        *ret_n = n;
        return 0;
}
