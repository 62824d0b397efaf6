/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "measure/words.h"
#include "util/parse.h"

static void words_are_taken_one_by_one_and_end_with_the_line(void **state) {
        const char *p = "disk  name=sda reads=12 odd=a=b\n\n net x";
        Word word;
        uint64_t v;

        (void)state;
        assert_true(words_next(&p, &word));
        assert_true(word_is(&word, "disk") && word.n_value == 0);
        assert_false(word_is(&word, "dis") || word_is(&word, "disks"));
        assert_true(words_next(&p, &word));
        assert_true(word_is(&word, "name"));
        assert_int_equal(word_u64(&word, &v), PARSE_MALFORMED);
        assert_true(words_next(&p, &word));
        assert_int_equal(word_u64(&word, &v), 0);
        assert_int_equal(v, 12);
        assert_true(words_next(&p, &word));
        assert_true(word_is(&word, "odd") && word.n_value == 3);
        assert_false(words_next(&p, &word));
        assert_false(words_next(&p, &word));

        assert_true(words_next_line(&p, &word));
        assert_true(word_is(&word, "net"));
        assert_false(words_next_line(&p, &word));
        assert_false(words_next(&p, &word));
}

static void any_text_is_one_word(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        char all[256], got[256];
        const char *p;
        Word word;

        (void)state;
        for (int i = 1; i < 256; i++)
                all[i - 1] = (char)i;
        all[255] = '\0';

        words_put_text(&text, "name", all);
        p = text.text;
        assert_true(words_next(&p, &word));
        assert_int_equal(*p, '\0');
        assert_int_equal(word_text(&word, got, sizeof(got)), 0);
        assert_string_equal(got, all);
        assert_int_equal(word_text(&word, got, sizeof(got) - 1), PARSE_MALFORMED);
}

static void numbers_read_back_and_zero_is_not_written(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        const char *p;
        Word word;
        uint64_t v;
        double d;

        (void)state;
        words_put_u64(&text, "zero", 0);
        words_put_double(&text, "nothing", 0);
        assert_int_equal(text.n, 0);
        words_put_u64(&text, "most", UINT64_MAX);
        words_put_double(&text, "third", -1.0 / 3);

        p = text.text;
        assert_true(words_next(&p, &word));
        assert_int_equal(word_u64(&word, &v), 0);
        assert_int_equal(v, UINT64_MAX);
        assert_true(words_next(&p, &word));
        assert_int_equal(word_double(&word, &d), 0);
        assert_true(d == -1.0 / 3);
        assert_int_equal(word_u64(&word, &v), PARSE_MALFORMED);
}

static void a_number_longer_than_any_is_none(void **state) {
        const char *p = "n=0000000000000000000000000000000000000000000000001";
        Word word;
        uint64_t v;

        (void)state;
        assert_true(words_next(&p, &word));
        assert_int_equal(word_u64(&word, &v), PARSE_MALFORMED);
}

static void sources_go_by_name(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        const char *p;
        Word word;

        (void)state;
        words_put_sources(&text, "have", 0);
        assert_int_equal(text.n, 0);
        words_put_sources(&text, "have", 1U << SOURCE_STAT | 1U << SOURCE_PSI_IO);
        assert_string_equal(text.text, " have=stat,psi_io");

        p = "have=,psi_io,,gpu,stat,";
        assert_true(words_next(&p, &word));
        assert_int_equal(word_sources(&word), 1U << SOURCE_STAT | 1U << SOURCE_PSI_IO);
        p = "have";
        assert_true(words_next(&p, &word));
        assert_int_equal(word_sources(&word), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_taken_one_by_one_and_end_with_the_line),
                cmocka_unit_test(any_text_is_one_word),
                cmocka_unit_test(numbers_read_back_and_zero_is_not_written),
                cmocka_unit_test(a_number_longer_than_any_is_none),
                cmocka_unit_test(sources_go_by_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
