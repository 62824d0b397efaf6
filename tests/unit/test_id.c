/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/wire/id.h"
#include "document/indicator.h"

static void a_result_id_is_a_version_7_uuid(void **state) {
        uint8_t id[RESULT_ID_BYTES];
        uint64_t ms = 0;

        (void)state;
        assert_int_equal(id_make_result(0x0123456789abULL, id), 0);
        for (unsigned i = 0; i < 6; i++)
                ms = ms << 8 | id[i];
        assert_true(ms == 0x0123456789abULL);
        assert_int_equal(id[6] >> 4, 7);
        assert_int_equal(id[8] >> 6, 2);
}

static void no_two_ids_of_one_millisecond_are_the_same(void **state) {
        uint8_t ids[100][RESULT_ID_BYTES];

        (void)state;
        for (unsigned i = 0; i < 100; i++) {
                assert_int_equal(id_make_result(1000, ids[i]), 0);
                for (unsigned k = 0; k < i; k++)
                        assert_memory_not_equal(ids[i], ids[k], RESULT_ID_BYTES);
        }
}

static void an_id_reads_back_from_its_text(void **state) {
        uint8_t id[RESULT_ID_BYTES], again[RESULT_ID_BYTES];
        char text[RESULT_ID_TEXT_MAX];

        (void)state;
        assert_int_equal(id_make_result(1, id), 0);
        id_format_result(id, text);
        assert_int_equal(strlen(text), 32);
        assert_true(id_parse_result(text, again));
        assert_memory_equal(id, again, sizeof(id));
}

static void an_invalid_id_is_refused(void **state) {
        uint8_t id[RESULT_ID_BYTES];

        (void)state;
        assert_false(id_parse_result("", id));
        assert_false(id_parse_result("0123456789abcdef0123456789abcde", id));
        assert_false(id_parse_result("0123456789abcdef0123456789abcdef0", id));
        assert_false(id_parse_result("0123456789abcdef0123456789abcdeg", id));
        assert_false(id_parse_result("0123456789ABCDEF0123456789ABCDEF", id));
}

static void job_ids_are_valid_names_that_sort_by_time(void **state) {
        char earlier[JOB_ID_TEXT_MAX], later[JOB_ID_TEXT_MAX];

        (void)state;
        assert_int_equal(id_make_job(1700000000000, earlier), 0);
        assert_int_equal(id_make_job(1700000000001, later), 0);
        assert_true(strcmp(earlier, later) < 0);
        assert_true(indicator_name_is_valid(earlier, JOB_ID_MAX - 1));
        assert_int_equal(strlen(earlier), 16);

        assert_int_equal(id_make_job(UINT64_C(1) << 48, later), 0);
        assert_true(strcmp(earlier, later) < 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_result_id_is_a_version_7_uuid),
                cmocka_unit_test(no_two_ids_of_one_millisecond_are_the_same),
                cmocka_unit_test(an_id_reads_back_from_its_text),
                cmocka_unit_test(an_invalid_id_is_refused),
                cmocka_unit_test(job_ids_are_valid_names_that_sort_by_time),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
