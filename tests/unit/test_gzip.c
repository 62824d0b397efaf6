/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/format/gzip.h"

#define UNPACKED_MAX (1U << 20)

/* Checks that the bytes are one compressed text, with its checksum and length and nothing behind, and that it equals
 * the text. */
static void assert_unpacks(const Buffer *packed, const Buffer *text) {
        z_stream stream = { .next_in = (const unsigned char *)packed->text, .avail_in = (unsigned)packed->n };
        scoped(freep) char *unpacked = malloc(UNPACKED_MAX);

        assert_non_null(unpacked);
        assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
        stream.next_out = (unsigned char *)unpacked;
        stream.avail_out = UNPACKED_MAX;
        assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
        assert_int_equal(stream.avail_in, 0);
        assert_int_equal(stream.total_out, text->n);
        if (text->n > 0)
                assert_memory_equal(unpacked, text->text, text->n);
        assert_int_equal(inflateEnd(&stream), Z_OK);
}

static void put_lines(Buffer *out, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                buffer_printf(out, "perfd_series{number=\"%u\"} %u\n", i, i * 7919U);
}

static void texts_of_any_length_are_packed(void **state) {
        static const unsigned n_lines[] = { 0, 1, 1000, 20000, 1 };
        Gzip gzip = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(n_lines); i++) {
                scoped(buffer_deinit) Buffer text = {}, packed = {};

                put_lines(&text, n_lines[i]);
                assert_int_equal(gzip_pack(&gzip, text.text, text.n, &packed), 0);
                assert_unpacks(&packed, &text);
                assert_true(n_lines[i] < 1000 || packed.n < text.n / 2);
        }
        gzip_deinit(&gzip);
}

static void parts_are_put_together_in_any_order(void **state) {
        static const unsigned orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 2, 1, 2 } };
        Buffer texts[4] = {}, parts[4] = {};
        GzipSum sums[4];
        Gzip gzip = {};

        (void)state;
        for (unsigned i = 0; i < 4; i++) {
                put_lines(&texts[i], i * i * 500); /* the first is empty */
                assert_int_equal(gzip_pack_part(&gzip, texts[i].text, texts[i].n, &parts[i], &sums[i]), 0);
                assert_int_equal(sums[i].n, texts[i].n);
        }
        for (size_t k = 0; k < N_ELEMENTS(orders); k++) {
                scoped(buffer_deinit) Buffer text = {}, packed = {};
                GzipSum sum = {};

                buffer_put(&packed, gzip_head, sizeof(gzip_head));
                for (unsigned i = 0; i < 4; i++) {
                        buffer_put(&text, texts[orders[k][i]].text, texts[orders[k][i]].n);
                        buffer_put(&packed, parts[orders[k][i]].text, parts[orders[k][i]].n);
                        gzip_sum_add(&sum, &sums[orders[k][i]]);
                }
                gzip_put_end(&sum, &packed);
                assert_unpacks(&packed, &text);
        }
        for (unsigned i = 0; i < 4; i++) {
                buffer_deinit(&texts[i]);
                buffer_deinit(&parts[i]);
        }
        gzip_deinit(&gzip);
}

static void a_full_buffer_is_an_error(void **state) {
        scoped(buffer_deinit) Buffer text = {}, packed = { .n_max = 8 };
        Gzip gzip = {};

        (void)state;
        put_lines(&text, 100);
        assert_int_equal(gzip_pack(&gzip, text.text, text.n, &packed), -ENOMEM);
        gzip_deinit(&gzip);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(texts_of_any_length_are_packed),
                cmocka_unit_test(parts_are_put_together_in_any_order),
                cmocka_unit_test(a_full_buffer_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
