/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/output_tail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

void output_tail_deinit(OutputTail *tail) {
        free(tail->bytes);
}

void output_tail_clear(OutputTail *tail) {
        tail->n_all = 0;
}

void output_tail_add(OutputTail *tail, const void *bytes, size_t n) {
        const char *p = bytes;

        if (!tail->bytes && !tail->failed) {
                tail->bytes = malloc(OUTPUT_TAIL_BYTES_MAX);
                tail->failed = !tail->bytes;
        }
        if (tail->failed)
                return;

        if (n > OUTPUT_TAIL_BYTES_MAX) {
                tail->n_all += n - OUTPUT_TAIL_BYTES_MAX;
                p += n - OUTPUT_TAIL_BYTES_MAX;
                n = OUTPUT_TAIL_BYTES_MAX;
        }
        while (n > 0) {
                size_t at = tail->n_all % OUTPUT_TAIL_BYTES_MAX,
                       k = n < OUTPUT_TAIL_BYTES_MAX - at ? n : OUTPUT_TAIL_BYTES_MAX - at;

                memcpy(tail->bytes + at, p, k);
                tail->n_all += k;
                p += k;
                n -= k;
        }
}

/* Returns the bytes in order of arrival. */
static void linearize(const OutputTail *tail, Buffer *ret) {
        size_t at = tail->n_all % OUTPUT_TAIL_BYTES_MAX;

        assert(tail->bytes && tail->n_all > 0);
        if (tail->n_all > OUTPUT_TAIL_BYTES_MAX)
                buffer_put(ret, tail->bytes + at, OUTPUT_TAIL_BYTES_MAX - at);
        buffer_put(ret, tail->bytes, tail->n_all > OUTPUT_TAIL_BYTES_MAX ? at : (size_t)tail->n_all);
}

static bool is_continuation(char c) {
        return ((unsigned char)c & 0xc0) == 0x80;
}

void output_tail_text(const OutputTail *tail, Buffer *ret, bool *ret_is_cut) {
        scoped(buffer_deinit) Buffer bytes = {}, text = {};
        size_t first = 0;

        *ret_is_cut = tail->n_all > OUTPUT_TAIL_BYTES_MAX;
        if (tail->failed || tail->n_all == 0)
                return;

        linearize(tail, &bytes);
        while (*ret_is_cut && first < 3 && first < bytes.n && is_continuation(bytes.text[first]))
                first++;
        text_put_valid(&text, bytes.text + first, bytes.n - first);

        /* U+FFFD takes more bytes than what it replaces. */
        first = text.n > OUTPUT_TAIL_BYTES_MAX ? text.n - OUTPUT_TAIL_BYTES_MAX : 0;
        *ret_is_cut |= first > 0;
        while (first > 0 && first < text.n && is_continuation(text.text[first]))
                first++;
        if (text.n > 0)
                buffer_put(ret, text.text + first, text.n - first);
        ret->failed |= text.failed || bytes.failed;
}
