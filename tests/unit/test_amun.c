/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "client/import/amun.h"
#include "client/import/inspection.h"
#include "util/buffer.h"
#include "value/value_parse.h"

#define PRINTED "{\"@parameters\":{},\"@result\":{\"rate\":2.5},\"name\":\"PiMatmul\",\"component\":\"tf\"}"

typedef struct Made {
        Arena arena;
        int r;
        Submission submission;
        Complaint complaint;
        Buffer run; /* as JSON */
} Made;

static void made_deinit(Made *made) {
        arena_deinit(&made->arena);
        buffer_deinit(&made->run);
}

static const Value *read_json(const char *text, Arena *arena) {
        const Value *value = NULL;
        ValueReader reader;
        ValueError error;

        value_parse_begin(&reader, text, strlen(text));
        if (value_parse_next(&reader, arena, &value, &error) != 0)
                fail_msg("%s: %s", text, error.text);
        return value;
}

static void make(Made *made, const char *text, const char *specification) {
        AmunContext context = { .inspection = specification ? "inspection-1" : NULL };
        Json json = { .out = &made->run };

        *made = (Made){};
        assert_int_equal(
                arena_init(&made->arena, amun_arena_size(strlen(text) + (specification ? strlen(specification) : 0))),
                0);
        if (specification)
                context.specification = read_json(specification, &made->arena);
        made->r = amun_read(read_json(text, &made->arena), &context, &made->arena, &made->submission, &made->complaint);
        if (made->r == 0)
                value_write_json(made->submission.run, &json);
}

static void assert_has(const Made *made, const char *words) {
        if (made->r != 0)
                fail_msg("refused: %s: %s", made->complaint.path, made->complaint.text);
        if (!strstr(made->run.text, words))
                fail_msg("%s does not have %s", made->run.text, words);
}

static void a_document_of_the_runner_is_distinguished_from_one_of_a_script(void **state) {
        static const struct {
                const char *text;
                bool is_result;
        } cases[] = {
                { PRINTED, false },
                { "{\"stdout\":{}}", true },
                { "{\"exit_code\":1}", true },
                { "{\"exit_code\":\"1\"}", false },
                { "{\"job_log\":{\"stdout\":\"\"}}", true },
                { "{\"log\":{\"exit_code\":0}}", true },
                { "{\"log\":\"text\"}", false },
                { "[1]", false },
                { "{\"@result\":{},\"stdout\":\"mine\",\"hostname\":\"mine\"}", false },
                { "{\"@result\":{},\"exit_code\":0}", false },
                { "{\"@result\":{},\"exit_code\":0,\"usage\":{}}", true },
                { "{\"result\":{\"stdout\":{}},\"parameters\":{}}", true },
                { "{\"result\":{\"stdout\":{}}}", false },
                { "{\"result\":{\"rate\":1},\"parameters\":{}}", false },
                { "{\"@result\":{},\"result\":{\"stdout\":{}},\"parameters\":{}}", false },
        };
        scoped(arena_deinit) Arena arena = {};

        (void)state;
        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        for (size_t i = 0; i < N_ELEMENTS(cases); i++)
                if (amun_is_result(read_json(cases[i].text, &arena)) != cases[i].is_result)
                        fail_msg("%s", cases[i].text);
}

static void a_record_contains_only_known_members(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, "{\"stdout\":" PRINTED ",\"exit_code\":0}", NULL);
        assert_int_equal(made.r, 0);
        assert_string_equal(made.run.text, "{}");
        assert_int_equal(made.submission.time_ms, 0);
        assert_true(made.submission.has_exit_status);
}

static void an_answer_of_the_rest_api_is_read_as_its_result(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made,
             "{\"parameters\":{\"inspection_id\":\"inspection-7\",\"item\":0},\"result\":{\"stdout\":" PRINTED ","
             "\"exit_code\":3,\"hostname\":\"pod-1\"}}", NULL);
        assert_has(&made, "\"hostname\":\"pod-1\"");
        assert_has(&made, "\"inspection\":\"inspection-7\"");
        assert_int_equal(made.submission.exit_status, 3);
        assert_string_equal(made.submission.indicator.name, "PiMatmul");
}

static void times_become_utc_and_a_duration(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made,
             "{\"stdout\":" PRINTED
             ",\"start_datetime\":\"2020-08-18T16:33:30.552043\",\"end_datetime\":\"2020-08-18T16:33:32.052043Z\"}",
             NULL);
        assert_has(&made,
                   "\"begin\":\"2020-08-18T16:33:30.552Z\",\"end\":\"2020-08-18T16:33:32.052Z\",\"wall_seconds\":1.5");
        assert_int_equal(made.submission.time_ms, 1597768412052);
        assert_false(made.submission.has_exit_status);
}

static void times_that_perfd_does_not_take_are_named(void **state) {
        static const struct {
                const char *time, *words;
        } cases[] = {
                { "2262-04-12T00:00:00", "is after the year 2261" },
                { "2554-01-01T00:00:00", "is not a time: expected 2020-08-18T16:33:32.052043" },
                { "yesterday", "is not a time: expected 2020-08-18T16:33:32.052043" },
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                scoped(made_deinit) Made made = {};
                char text[512];

                snprintf(text, sizeof(text), "{\"stdout\":" PRINTED ",\"exit_code\":0,\"end_datetime\":\"%s\"}",
                         cases[i].time);
                make(&made, text, NULL);
                assert_int_equal(made.r, INDICATOR_INVALID);
                assert_string_equal(made.complaint.path, "end_datetime");
                assert_non_null(strstr(made.complaint.text, cases[i].words));
        }
}

static void hardware_of_old_and_new_probes_is_read(void **state) {
        scoped(made_deinit) Made made, old;

        (void)state;
        make(&made,
             "{\"stdout\":" PRINTED ",\"hwinfo\":{\"cpu_info\":{\"brand_raw\":\"Xeon\",\"family\":6,\"model\":85,"
                                    "\"count\":64},"
             "\"cpu_features\":{\"flags\":[\"apic\",\"avx2\",7],\"l2_cache_size\":4194304},\"platform\":{\"release\":"
             "\"4.18.0\"}},"
             "\"os_release\":{\"id\":\"rhel\",\"version_id\":\"8.2\"},\"runtime_environment\":{\"cuda_version\":null,"
             "\"python_version\":\"3.8\"},\"hostname\":\"pod-1\"}",
             NULL);
        assert_has(&made, "{\"host\":{\"hostname\":\"pod-1\",\"cpu\":{\"model\":\"Xeon\",\"family\":6,\"model_number\":"
                          "85,\"threads\":64,"
                          "\"flags\":[\"avx2\"],\"caches\":{\"l2\":4194304}}},\"os\":{\"id\":\"rhel\",\"version\":\"8."
                          "2\"},"
                          "\"kernel\":\"4.18.0\",\"runtime\":{\"python\":\"3.8\"}}");
        make(&old,
             "{\"stdout\":" PRINTED ",\"hwinfo\":{\"cpu_info\":{\"brand\":\"Old\",\"vendor_id\":\"AMD\"}},"
             "\"runtime_environment\":{\"hardware\":{\"cpu_family\":23,\"cpu_model\":1},\"operating_system\":{\"name\":"
             "\"fedora\"}}}",
             NULL);
        assert_has(&old, "\"cpu\":{\"model\":\"Old\",\"vendor\":\"AMD\",\"family\":23,\"model_number\":1}},\"os\":{"
                         "\"id\":\"fedora\"}");
}

static void requests_environment_and_origin_come_from_the_specification(void **state) {
        scoped(made_deinit) Made made;

        (void)state;
        make(&made, "{\"stdout\":" PRINTED ",\"script_sha256\":\"ab\"}",
             "{\"identifier\":\"m\",\"base\":\"ubi8\",\"batch_size\":\"20\",\"script\":\"import "
             "time\\n\",\"run\":{\"requests\":"
             "{\"cpu\":\"500m\",\"memory\":\"4Gi\",\"hardware\":{\"cpu_family\":6}}},"
             "\"build\":{\"requests\":{\"cpu\":2,\"memory\":\"lots\"}},"
             "\"environment\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"A\",\"value\":\"2\"},{\"value\":\"3\"},4]"
             "}");
        assert_has(&made, "{\"script\":{\"sha256\":\"ab\",\"origin\":\"import "
                          "time\\n\"},\"inspection\":\"inspection-1\",\"specification\":"
                          "{\"identifier\":\"m\",\"base\":\"ubi8\",\"batch_size\":\"20\",\"run\":{\"cpus\":0.5,"
                          "\"memory_bytes\":4294967296,"
                          "\"hardware\":{\"cpu_family\":6}},"
                          "\"build\":{\"cpus\":2.0,\"memory_bytes\":\"lots\"}},\"environment\":{\"A\":\"2\"}}");
        assert_string_equal(made.submission.indicator.version, "ab");
}

static void standard_error_keeps_its_end(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(made_deinit) Made made;
        const char *kept;

        (void)state;
        buffer_puts(&text, "{\"stdout\":" PRINTED ",\"stderr\":\"");
        for (size_t i = 0; i < 65536; i++)
                buffer_puts(&text, "\xc3\xa9");
        buffer_puts(&text, "x\"}");
        make(&made, text.text, NULL);
        assert_has(&made, "\"stderr_cut\":true");
        kept = value_get_string(made.submission.run, "stderr");
        assert_int_equal(strlen(kept), 65535); /* no partial character remains */
        assert_string_equal(kept + 65532, "\xc3\xa9x");
}

static void a_failed_run_gets_its_name_from_several_sources(void **state) {
        scoped(made_deinit) Made printed, script, nobody;

        (void)state;
        make(&printed, "{\"stdout\":" PRINTED ",\"exit_code\":3}", NULL);
        assert_int_equal(printed.r, 0);
        assert_string_equal(printed.submission.indicator.name, "PiMatmul");
        assert_int_equal(printed.submission.exit_status, 3);

        make(&script, "{\"stdout\":\"Traceback\",\"exit_code\":-15,\"script_sha256\":\"5cbc\"}",
             "{\"script\":\"https://example.org/a/conv2d.py\"}");
        assert_int_equal(script.r, 0);
        assert_string_equal(script.submission.indicator.name, "conv2d");
        assert_string_equal(script.submission.indicator.version, "5cbc");
        assert_null(script.submission.indicator.document);
        assert_int_equal(script.submission.exit_status, 143);

        make(&nobody, "{\"stdout\":\"\",\"exit_code\":1}", "{\"script\":\"print(1)\\nprint('a/b.py')\"}");
        assert_int_equal(nobody.r, INDICATOR_INVALID);
        assert_string_equal(nobody.complaint.path, "name");
}

static void ids_follow_from_names_alone(void **state) {
        uint8_t batch[RESULT_ID_BYTES], again[RESULT_ID_BYTES], first[RESULT_ID_BYTES], second[RESULT_ID_BYTES];

        (void)state;
        inspection_derive_id("inspection-1", batch);
        inspection_derive_id("inspection-1", again);
        assert_memory_equal(batch, again, sizeof(batch));
        inspection_derive_id("inspection-2", again);
        assert_memory_not_equal(batch, again, sizeof(batch));
        inspection_derive_result_id("inspection-1", 1, first);
        inspection_derive_result_id("inspection-1", 2, second);
        assert_memory_not_equal(first, second, sizeof(first));
        assert_memory_not_equal(first, batch, sizeof(first));
        assert_int_equal(first[6] >> 4, 8);
        assert_int_equal(first[8] >> 6, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_document_of_the_runner_is_distinguished_from_one_of_a_script),
                cmocka_unit_test(a_record_contains_only_known_members),
                cmocka_unit_test(an_answer_of_the_rest_api_is_read_as_its_result),
                cmocka_unit_test(times_become_utc_and_a_duration),
                cmocka_unit_test(times_that_perfd_does_not_take_are_named),
                cmocka_unit_test(hardware_of_old_and_new_probes_is_read),
                cmocka_unit_test(requests_environment_and_origin_come_from_the_specification),
                cmocka_unit_test(standard_error_keeps_its_end),
                cmocka_unit_test(a_failed_run_gets_its_name_from_several_sources),
                cmocka_unit_test(ids_follow_from_names_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
