/* SPDX-License-Identifier: Apache-2.0 */
/* tests: client/top/top_view.c client/top/top_state.c client/top/top_options.c */
#include <math.h>

#include "client/top/top_options.h"
#include "client/top/top_view.h"
#include "report_fixture.h"

#define JOB(name, metrics)                                                                                  \
        "{\"id\":\"" name "\",\"name\":\"" name "\",\"user\":\"alice\",\"command\":\"./" name "\","          \
        "\"begin_ms\":1700000000000,\"state\":\"running\",\"metrics\":{" metrics "}}"
#define NUMBERS(duration, cpu, io, waited)                                                                          \
        "\"duration_seconds\":" #duration ",\"job_cpu_seconds\":" #cpu ",\"job_memory_peak_bytes\":1048576,"         \
        "\"job_io_read_bytes\":" #io ",\"job_io_written_bytes\":0,\"job_psi_cpu_some_seconds\":" #waited

static TopJob job_at(Fixture *f, const char *text) {
        return top_state_read_job(read_value(f, text));
}

static void numbers_of_a_job_are_means_then_rates(void **state) {
        TopJob first = job_at(*state, JOB("a", NUMBERS(100, 50, 2048, 10)));
        TopJob second = job_at(*state, JOB("a", NUMBERS(102, 54, 4096, 12)));
        TopJob third = job_at(*state, JOB("a", NUMBERS(112, 54, 14336, 13)));
        TopJob same = third, late = job_at(*state, JOB("a", NUMBERS(140, 68, 14336, 13)));

        assert_true(first.value[TOP_COLUMN_CPUS] == 0.5);
        assert_true(first.value[TOP_COLUMN_WAITED] == 0.1);
        top_state_compare_job(&second, &first);
        assert_true(second.value[TOP_COLUMN_CPUS] == 2);
        assert_true(second.value[TOP_COLUMN_WAITED] == 0.1); /* unknown when it was read before */
        top_state_compare_job(&third, &second);
        assert_true(third.value[TOP_COLUMN_CPUS] == 0);
        assert_true(third.value[TOP_COLUMN_IO] == 1024);
        assert_true(third.value[TOP_COLUMN_WAITED] == 0.1);
        top_state_compare_job(&same, &third); /* no sample between */
        assert_true(same.value[TOP_COLUMN_IO] == 1024);
        top_state_compare_job(&late, &third); /* not read any more, or nothing happened */
        assert_true(late.value[TOP_COLUMN_IO] == 0);
        assert_true(late.value[TOP_COLUMN_CPUS] == 0.5);
}

static void missing_numbers_of_a_job_are_unknown(void **state) {
        TopJob first = job_at(*state, JOB("a", "\"duration_seconds\":1"));
        TopJob second = job_at(*state, JOB("a", "\"duration_seconds\":2"));

        top_state_compare_job(&second, &first);
        for (TopColumn i = 0; i < N_TOP_COLUMNS; i++)
                assert_true(isnan(second.value[i]));
}

/* A node with three jobs. */
static void fill(Fixture *f, TopState *top, TopJob *jobs) {
        static const char *const texts[] = { JOB("idle", "\"duration_seconds\":5"), JOB("small", NUMBERS(10, 1, 0, 9)),
                                             JOB("b\\u001b[2J\\u202e\\u65e5", NUMBERS(10, 9, 100, 1)) };

        *top = (TopState){};
        top->node = (TopNode){ .hostname = "n1", .n_cpus = 4, .time_ms = 1700000065000, .memory_bytes = 1048576 };
        for (size_t i = 0; i < N_TOP_NUMBERS; i++) {
                top->node.number[i] = i == TOP_CPU ? 0.5 : NAN;
                for (size_t k = 0; k < TOP_TREND_MAX; k++)
                        top->node.trend[i][k] = k < 30 ? NAN : 1;
        }
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                jobs[i] = job_at(f, texts[i]);
        top->jobs = (TopJobs){ .items = jobs, .n = N_ELEMENTS(texts) };
}

static const char *id_of(const TopState *top, size_t i) {
        return answer_text(top->jobs.items[i].of, "id");
}

static void jobs_are_sorted_by_a_column(void **state) {
        TopJob jobs[3];
        TopState top;

        fill(*state, &top, jobs);
        top_state_sort_by_word(&top, "pressure");
        assert_string_equal(id_of(&top, 0), "small");
        assert_string_equal(id_of(&top, 2), "idle");
        top_state_sort(&top, TOP_COLUMN_CPUS);
        assert_string_equal(id_of(&top, 1), "small");
        assert_string_equal(id_of(&top, 2), "idle");
}

/* Lines of at most `width` columns, each character of the tests but one being of one column. */
static void check_widths(const Buffer *out, size_t width) {
        size_t n = 0;

        for (size_t i = 0; i < out->n; i++) {
                if (out->text[i] == '\n') {
                        assert_true(n <= width);
                        n = 0;
                } else
                        n += ((unsigned char)out->text[i] & 0xc0) != 0x80;
        }
}

static void a_screen_fits_each_width_and_escapes_names(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 20, .selected = 2 };
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        for (unsigned width = 40; width <= 220; width += 4) {
                buffer_clear(&f->out);
                f->screen.width = width;
                f->screen.has_unicode = width % 8 == 0;
                top_view_write(&f->screen, &top, &window);
                assert_null(strchr(f->out.text, '\x1b'));
                assert_null(strstr(f->out.text, "\u202e"));
                assert_non_null(strstr(f->out.text, "50.0 %"));
                check_widths(&f->out, width);
        }
        assert_non_null(strstr(f->out.text, "b\\x1b[2J\\u{202e}\u65e5"));
        assert_non_null(strstr(f->out.text, "./small"));
        assert_non_null(strstr(f->out.text, "1 min 05 s"));
}

static void cores_are_merged_if_there_are_many(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 24 };
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top.node.n_cores = 600;
        top.node.core[599] = 1;
        f->screen.has_unicode = false;
        top_view_write(&f->screen, &top, &window);
        assert_non_null(strstr(f->out.text, "\ncores    ...."));
        assert_non_null(strstr(f->out.text, ".#\nmemory"));
        check_widths(&f->out, 80);
        top.node.n_cores = 2;
        top.node.core[1] = 1;
        buffer_clear(&f->out);
        top_view_write(&f->screen, &top, &window);
        assert_non_null(strstr(f->out.text, "\ncores    .#\n"));
}

static void the_selected_job_is_shown(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 10, .selected = 2 }; /* room for one job */
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top_view_write(&f->screen, &top, &window);
        assert_int_equal(window.first, 2);
        assert_int_equal(window.selected_row, 8);
        assert_null(strstr(f->out.text, "small"));
        window.selected = 9;
        top.jobs.n = 1;
        top_view_write(&f->screen, &top, &window);
        assert_int_equal(window.selected, 0);
        top.jobs.n = 0;
        buffer_clear(&f->out);
        top_view_write(&f->screen, &top, &window);
        assert_non_null(strstr(f->out.text, "No job runs"));
        assert_int_equal(window.selected_row, 0);
}

/* n GPUs, of which the first works by half, and the last is lost. */
static void fill_gpus(Fixture *f, TopState *top, size_t n) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_puts(&text, "{\"gpus\":[");
        for (size_t i = 0; i < n; i++)
                buffer_printf(&text, "%s{\"gpu\":\"%zu\",\"counted\":%s,%s}", i > 0 ? "," : "", i,
                              i < 6 ? "true" : "false",
                              i == 0      ? "\"gpu_sm_active_ratio\":0.5,\"gpu_utilization_ratio\":1,"
                                            "\"gpu_power_watts\":345.6,\"gpu_memory_used_bytes\":1073741824,"
                                            "\"gpu_memory_total_bytes\":4294967296"
                              : i + 1 < n ? "\"gpu_utilization_ratio\":0.25,\"gpu_memory_total_bytes\":4294967296"
                                          : "\"state\":\"\\u001b[2Jlost\"");
        buffer_puts(&text, "]}");
        top_state_read_gpus(&top->node, read_value(f, text.text));
        top->node.number[TOP_GPUS_ACTIVE] = 0.5;
        top->node.number[TOP_GPUS_POWER] = 400;
}

static void a_few_gpus_have_a_line_each(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 24 };
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top_view_write(&f->screen, &top, &window);
        assert_null(strstr(f->out.text, "GPU"));
        fill_gpus(f, &top, 3);
        top.node.number[TOP_POWER] = 99;
        top.node.number[TOP_NETFS_READ] = 1024;
        for (unsigned width = 40; width <= 200; width += 20) {
                buffer_clear(&f->out);
                f->screen.width = width;
                top_view_write(&f->screen, &top, &window);
                check_widths(&f->out, width);
        }
        assert_non_null(strstr(f->out.text, "\nGPU 0     50.0 % "));
        assert_non_null(strstr(f->out.text, " 1.00 GiB of 4.00 GiB, 346 W\nGPU 1     25.0 % "));
        assert_non_null(strstr(f->out.text, " utilized, - of 4.00 GiB\nGPU 2          - "));
        assert_non_null(strstr(f->out.text, " \\x1b[2Jlost\n"));
        assert_non_null(strstr(f->out.text, "4 CPUs, 99 W  3 jobs"));
        assert_non_null(strstr(f->out.text, "netfs    1.00 KiB/s read, - written"));
        assert_null(strstr(f->out.text, "fabric"));
}

static void gpus_of_jobs_have_a_column(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 24 };
        const Value *list;
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top_view_write(&f->screen, &top, &window);
        assert_null(strstr(f->out.text, "GPUS"));
        assert_null(strstr(top_view_keys(&f->screen, &top.jobs), " g "));
        jobs[1] = job_at(f, JOB("small", NUMBERS(10, 1, 0, 9) ",\"job_gpu_used_seconds\":15"));
        top.jobs.has_gpus = true;
        top_state_sort_by_word(&top, "gpu");
        assert_string_equal(id_of(&top, 0), "small");
        for (unsigned width = 40; width <= 200; width += 20) {
                buffer_clear(&f->out);
                f->screen.width = width;
                top_view_write(&f->screen, &top, &window);
                check_widths(&f->out, width);
                assert_non_null(strstr(f->out.text, "*GPUS"));
                assert_non_null(strstr(f->out.text, "   1.50"));
        }
        assert_non_null(strstr(top_view_keys(&f->screen, &top.jobs), "c g m i p"));
        buffer_clear(&f->out);
        top_view_write_json(&top, &(Json){ .out = &f->out });
        list = value_get(read_value(f, f->out.text), "jobs");
        assert_true(answer_number(&list->items[0], "gpus") == 1.5);
        assert_null(value_get(&list->items[1], "gpus"));
}

static void many_gpus_have_a_line_in_all(void **state) {
        Fixture *f = *state;
        TopWindow window = { .n_rows = 24 };
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        fill_gpus(f, &top, 8); /* of which two are instances */
        f->screen.has_unicode = false;
        top_view_write(&f->screen, &top, &window);
        assert_non_null(strstr(f->out.text, "\nGPUs       8.3 % "));
        assert_non_null(strstr(f->out.text, " 0.50 of 6 active, 400 W\neach GPU +------ \n"));
        buffer_clear(&f->out);
        window.n_rows = 20; /* no space */
        top_view_write(&f->screen, &top, &window);
        assert_null(strstr(f->out.text, "each GPU"));
        assert_non_null(strstr(f->out.text, "0.50 of 6 active"));
}

static void a_document_lacks_equipment_that_the_node_lacks(void **state) {
        Fixture *f = *state;
        const Value *gpu;
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top_view_write_json(&top, &(Json){ .out = &f->out });
        assert_null(strstr(f->out.text, "gpu"));
        assert_null(strstr(f->out.text, "fabric"));
        fill_gpus(f, &top, 2);
        buffer_clear(&f->out);
        top_view_write_json(&top, &(Json){ .out = &f->out });
        assert_non_null(strstr(f->out.text, "\"gpus_active\":0.5"));
        gpu = value_get(read_value(f, f->out.text), "gpus");
        assert_int_equal(answer_length(gpu), 2);
        assert_true(answer_number(&gpu->items[0], "gpu_sm_active_ratio") == 0.5);
        assert_null(value_get(&gpu->items[1], "gpu_sm_active_ratio"));
        assert_string_equal(answer_text(&gpu->items[1], "state"), "\x1b[2Jlost");
}

static void a_document_has_null_for_what_is_unknown(void **state) {
        Fixture *f = *state;
        Json json = { .out = &f->out };
        const Value *all, *list;
        TopJob jobs[3];
        TopState top;

        fill(f, &top, jobs);
        top_view_write_json(&top, &json);
        all = read_value(f, f->out.text);
        assert_true(answer_number(all, "cpu_utilization") == 0.5);
        assert_true(isnan(answer_number(all, "pressure_io_ratio")));
        list = value_get(all, "jobs");
        assert_int_equal(answer_length(list), 3);
        assert_true(answer_number(&list->items[1], "waited_ratio") == 0.9);
        assert_string_equal(answer_text(&list->items[1], "command"), "./small");
}

static void times_are_local_and_past(void **state) {
        static const char *const none[] = { "", "3", "25:00", "03:00x", "yesterday", "2023-13-01 03:00" };
        uint64_t now_ms = 1700000065000; /* 2023-11-14 22:14:25 UTC */

        (void)state;
        setenv("TZ", "UTC", 1);
        assert_int_equal(top_options_parse_time("22:14", now_ms), 1700000040000);
        assert_int_equal(top_options_parse_time("22:14:24", now_ms), 1700000064000);
        assert_int_equal(top_options_parse_time("22:15", now_ms), 1700000100000 - 86400000);
        assert_int_equal(top_options_parse_time("2023-11-14 22:14:25", now_ms), now_ms);
        assert_int_equal(top_options_parse_time("2023-11-13T22:14", now_ms), 1700000040000 - 86400000);
        for (size_t i = 0; i < N_ELEMENTS(none); i++)
                assert_int_equal(top_options_parse_time(none[i], now_ms), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(numbers_of_a_job_are_means_then_rates, set_up, tear_down),
                cmocka_unit_test_setup_teardown(missing_numbers_of_a_job_are_unknown, set_up, tear_down),
                cmocka_unit_test_setup_teardown(jobs_are_sorted_by_a_column, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_screen_fits_each_width_and_escapes_names, set_up, tear_down),
                cmocka_unit_test_setup_teardown(cores_are_merged_if_there_are_many, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_selected_job_is_shown, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_few_gpus_have_a_line_each, set_up, tear_down),
                cmocka_unit_test_setup_teardown(gpus_of_jobs_have_a_column, set_up, tear_down),
                cmocka_unit_test_setup_teardown(many_gpus_have_a_line_in_all, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_document_lacks_equipment_that_the_node_lacks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_document_has_null_for_what_is_unknown, set_up, tear_down),
                cmocka_unit_test(times_are_local_and_past),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
