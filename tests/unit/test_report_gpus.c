/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/report/report_gpus.c */
#include "run_fixture.h"

#include "util/scoped.h"

/* A GPU as in the answer of perfd; used and shared are words of JSON. */
static void put_gpu(Buffer *out, const char *name, const char *uuid, const char *used, const char *shared,
                    double utilization, double active) {
        buffer_printf(out, "%s{\"gpu\":\"%s\",\"uuid\":\"%s\",\"model\":\"NVIDIA H200\",\"given\":\"%s\",",
                      out->n > 0 ? "," : "", name, uuid, name);
        buffer_printf(out, "\"used\":%s,\"shared\":%s,\"seconds\":600,", used, shared);
        buffer_printf(out, "\"utilization\":%g,\"sm_active\":%g,", utilization, active);
        buffer_puts(out, "\"sm_over80\":0.25,\"tensor_active\":0.125,\"memory_total_bytes\":150754820096,"
                         "\"memory_peak_bytes\":75377410048,\"process_memory_peak_bytes\":1073741824,"
                         "\"power_watts\":412.4,\"energy_joules\":247440}");
}

static const char *report(Fixture *f, Rank *ranks, size_t n, char *const texts[static 4]) {
        for (size_t i = 0; i < n; i++)
                ranks[i].more = texts[i];
        assert_int_equal(join(f, ranks, n), 0);
        return screen_of(f, true);
}

static const char *report_one(Fixture *f, const char *gpus, const char *more) {
        scoped(buffer_deinit) Buffer text = {};
        Rank rank = a_rank(-1, "job-1", "node1");

        rank.ranks = 0;
        buffer_printf(&text, ",\"gpus\":[%s]%s", gpus, more);
        report_run_deinit(&f->run);
        return report(f, &rank, 1, (char *[]){ text.text, NULL, NULL, NULL });
}

static void the_gpus_of_a_job_are_a_table(void **state) {
        scoped(buffer_deinit) Buffer gpus = {};
        Fixture *f = *state;
        const char *text;

        put_gpu(&gpus, "0", "GPU-a", "true", "false", 0.94, 0.399);
        put_gpu(&gpus, "1", "GPU-b", "true", "false", 0.26, 0.0002);
        put_gpu(&gpus, "2", "GPU-c", "false", "false", 0, 0);
        text = report_one(f, gpus.text, "");
        assert_says(text, "GPUs, NVIDIA H200\n"
                          "  used      2 of 3, with a kernel 12 min 00 s of 30 min 00 s, 0.742 MJ\n"
                          "GPU           time  util      SM  SM≥80%  tensor    memory  peak  power\n"
                          "  0    10 min 00 s  94 %    40 %    25 %    12 %  70.2 GiB  50 %  412 W\n"
                          "  1    10 min 00 s  26 %  <0.1 %    25 %    12 %  70.2 GiB  50 %  412 W\n"
                          "  2    10 min 00 s   0 %     0 %    25 %    12 %  70.2 GiB  50 %  412 W\n");
}

static void a_running_job_has_the_energy_until_now(void **state) {
        Fixture *f = *state;

        assert_says(report_one(f, "{\"gpu\":\"0\",\"used\":true,\"seconds\":8,\"utilization\":1,\"energy_joules\":0,"
                                  "\"energy_now_joules\":4000},"
                                  "{\"gpu\":\"1\",\"used\":true,\"seconds\":8,\"utilization\":1,\"energy_joules\":1000,"
                                  "\"energy_now_joules\":null}", ""),
                    "  used      2 of 2, with a kernel 16 s of 16 s, 5000 J\n");
}

static void a_job_without_gpus_has_no_table(void **state) {
        Fixture *f = *state;

        assert_null(strstr(report_one(f, "", ""), "GPU"));
        report_run_deinit(&f->run);
        assert_null(strstr(report(f, (Rank[]){ a_rank(-1, "job-1", "node1") }, 1, (char *[4]){}), "GPU"));
}

static void what_is_not_known_is_a_dash(void **state) {
        Fixture *f = *state;
        const char *text = report_one(f, "{\"gpu\":null,\"given\":\"minor:3\",\"used\":null,\"shared\":false},"
                                         "{\"gpu\":\"0\",\"used\":true,\"seconds\":60,\"sm_active\":null}", "");

        assert_says(text, "GPUs\n  used      1 of 2, 2 not known\n");
        assert_says(text, "  minor:3           -     -   -");
        assert_says(text, "  0        1 min 00 s     -   -");
        assert_null(strstr(text, "nan"));
}

static void a_shared_gpu_shows_the_memory_of_the_jobs_processes(void **state) {
        scoped(buffer_deinit) Buffer gpus = {};
        Fixture *f = *state;

        put_gpu(&gpus, "0", "GPU-a", "true", "true", 0.5, 0.3);
        assert_says(report_one(f, gpus.text, ""), "  0 shared  10 min 00 s  50 %  30 %    25 %    12 %  1.00 GiB ");
}

static void the_wait_for_data_is_joined(void **state) {
        scoped(buffer_deinit) Buffer gpus = {};
        Fixture *f = *state;
        const char *text;

        put_gpu(&gpus, "0", "GPU-a", "true", "false", 0.94, 0.38);
        text = report_one(f, gpus.text,
                          ",\"pipelines\":[{\"limit\":\"stage\",\"stage\":\"load\",\"wait_share\":0.52},"
                          "{\"limit\":\"consumer\",\"stage\":null,\"wait_share\":0.02,\"is_wait_bound\":true},"
                          "{\"limit\":\"unknown\",\"wait_share\":0.3},{\"limit\":\"cpu\",\"wait_share\":null}]");
        assert_says(text, "  program   waited for data 52 % of the time (load is the limit)\n"
                          "  program   waited for data at most 2.0 % of the time (consumer is the limit)\n"
                          "  program   waited for data 30 % of the time\n"
                          "GPU ");
}

/* Each rank was given both GPUs of its node, and uses one. */
static void the_gpus_of_a_run_are_those_of_all_nodes_once(void **state) {
        Buffer texts[4] = {};
        char *more[4];
        Rank ranks[4];
        Fixture *f = *state;
        const Value *total;
        const char *text;

        for (int i = 0; i < 4; i++) {
                scoped(buffer_deinit) Buffer gpus = {};
                const char *const uuids[] = { "GPU-a", "GPU-b", "GPU-c", "GPU-d" };
                int other = i ^ 1;

                ranks[i] = a_rank(i, (const char *[]){ "r.0", "r.1", "r.2", "r.3" }[i], i < 2 ? "node1" : "node2");
                put_gpu(&gpus, i % 2 ? "1" : "0", uuids[i], i == 3 ? "false" : "true", "false", i == 3 ? 0 : 0.9, 0.5);
                put_gpu(&gpus, i % 2 ? "0" : "1", uuids[other], "false", "false", 0, 0);
                buffer_printf(&texts[i], ",\"gpus\":[%s]", gpus.text);
                more[i] = texts[i].text;
        }
        text = report(f, ranks, 4, more);
        assert_says(text, "  used      3 of 4, with a kernel 27 min 00 s of 40 min 00 s, 0.990 MJ\n");
        assert_says(text, "  node1 0  10 min 00 s  90 %");
        assert_says(text, "  node1 1  10 min 00 s  90 %");
        assert_says(text, "  node2 0  10 min 00 s  90 %");
        assert_says(text, "  node2 1");
        total = value_get(json_of(f), "total");
        assert_true(answer_number(find_item(total, "job_gpu_seconds"), "value") == 2400);
        assert_true(answer_number(find_item(total, "job_gpu_energy_joules"), "value") == 4 * 247440);
        for (size_t i = 0; i < 4; i++)
                buffer_deinit(&texts[i]);
}

static void gpus_beyond_the_limit_are_counted(void **state) {
        scoped(buffer_deinit) Buffer gpus = {};
        Fixture *f = *state;
        char name[16];

        for (unsigned i = 0; i < REPORT_GPUS_MAX + 3; i++) {
                (void)snprintf(name, sizeof(name), "%u", i);
                put_gpu(&gpus, name, name, "true", "false", 0.5, 0.5);
        }
        assert_says(report_one(f, gpus.text, ""), "\n  and 3 more\n");
}

static void damaged_members_are_named(void **state) {
        scoped(buffer_deinit) Buffer names = {};
        Fixture *f = *state;
        ValueReader reader;
        ValueError error;
        const Value *value;
        const char text[] = "{\"gpus\":[{\"gpu\":3,\"seconds\":\"x\"},7]}";

        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, &f->arena, &value, &error), 0);
        (void)report_run_check(value, &names);
        assert_says(names.text, "gpus[0].gpu");
        assert_says(names.text, "gpus[0].seconds");
        assert_says(names.text, "gpus[1]");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(the_gpus_of_a_job_are_a_table),
                TEST(a_running_job_has_the_energy_until_now),
                TEST(a_job_without_gpus_has_no_table),
                TEST(what_is_not_known_is_a_dash),
                TEST(a_shared_gpu_shows_the_memory_of_the_jobs_processes),
                TEST(the_wait_for_data_is_joined),
                TEST(the_gpus_of_a_run_are_those_of_all_nodes_once),
                TEST(gpus_beyond_the_limit_are_counted),
                TEST(damaged_members_are_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
