#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/json.h"
#include "client/question.h"
#include "client/report.h"

static const char job_json[] =
        "{\"id\":\"train-17\",\"name\":\"resnet\\u001b[2J\",\"state\":\"finished\","
        "\"command\":\"python3 train.py\",\"user\":\"alice\",\"uid\":1000,\"gid\":100,\"pid\":42,\"rank\":3,"
        "\"begin_ms\":1700000000000,\"end_ms\":1700000083000,\"note\":\"%s\","
        "\"exit\":{\"status\":%d,\"signal\":%d},\"rusage\":{\"ru_utime\":12.5,\"ru_stime\":0.25,\"ru_maxrss\":1048576},"
        "\"labels\":{\"batch\":\"256\"},"
        "\"metrics\":[{\"key\":\"cpu_avg_utilization_pct\",\"value\":43.21,\"unit\":\"%%\",\"quality\":\"exact\"},"
        "{\"key\":\"max_t_mem_percent\",\"value\":61.5,\"unit\":\"%%\",\"quality\":\"sampled\"},"
        "{\"key\":\"node_cpu_hours\",\"value\":1.5,\"unit\":\"h\",\"quality\":\"exact\"},"
        "{\"key\":\"total_disk_io_read_mb\",\"value\":1536.0,\"unit\":\"MiB\",\"quality\":\"exact\"}],"
        "\"absent\":[{\"key\":\"max_t_cpu_pct_per_cpu_avg\",\"reason\":\"no observation fell into it\"}],\"compat\":[]}";

static const char node_json[] = "{\"hostname\":\"n17\",\"cpus\":64,\"time_ms\":1700000100000,\"interval_ms\":1000}";

typedef struct Fixture {
        Arena arena;
        Buffer out;
        Screen screen;
} Fixture;

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->screen = (Screen){ .out = &f->out, .width = 80 };
        return arena_init(&f->arena, 1024 * 1024);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        buffer_deinit(&f->out);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static const Value *read_value(Fixture *f, const char *text) {
        JsonReader reader;
        JsonError error;
        const Value *value;

        json_reader_init(&reader, text, strlen(text));
        if (json_read(&reader, &f->arena, &value, &error) != 0)
                fail_msg("%u:%u: %s", error.line, error.column, error.text);
        return value;
}

static const char *report(Fixture *f, const char *note, int status, int signal, bool has_node) {
        scoped(buffer_deinit) Buffer text = {};

        buffer_printf(&text, job_json, note, status, signal);
        buffer_clear(&f->out);
        report_write(&f->screen, read_value(f, text.text), has_node ? read_value(f, node_json) : NULL, NULL);
        assert_int_equal(buffer_error(&f->out), 0);
        return f->out.text;
}

static void assert_says(const char *text, const char *words) {
        if (!strstr(text, words))
                fail_msg("'%s' is not in\n%s", words, text);
}

static void a_job_that_began_after_the_last_sample_has_just_begun(void **state) {
        Fixture *f = *state;
        const Value *job = read_value(f, "{\"id\":\"j\",\"state\":\"running\",\"begin_ms\":1700000100300,\"end_ms\":null,"
                                         "\"metrics\":[],\"absent\":[],\"compat\":[]}");

        buffer_clear(&f->out);
        report_write_head(&f->screen, job, read_value(f, node_json));
        assert_says(f->out.text, "just begun, since ");
        assert_null(strchr(f->out.text, '?'));
}

static void it_says_what_ran_where_how_long_and_how_it_ended(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_says(text, "Job train-17 (resnet");
        assert_says(text, "finished: exit 0");
        assert_says(text, "python3 train.py");
        assert_says(text, "n17, 64 CPUs, rank 3, process 42, by alice");
        assert_says(text, "1 min 23 s");
        assert_says(text, "CPU 12.5 s user, 250 ms system; largest process 1.00 GiB");
        assert_says(text, "batch=256");
}

static void numbers_have_bars_units_and_marks(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_says(text, "mean                       43.2 %  ####");
        assert_says(text, "memory, peak               61.5 %~ ####");
        assert_says(text, "1 h 30 min available");
        assert_says(text, "1.50 GiB read");
        assert_says(text, "~ from samples every 1 s");
}

static void what_is_absent_says_why(void **state) {
        assert_says(report(*state, "", 0, 0, true), "peak                   no observation fell into it");
}

static void a_signal_has_its_name(void **state) {
        assert_says(report(*state, "", 137, 9, true), "finished: Killed");
        assert_says(report(*state, "", 3, 0, true), "finished: exit 3");
}

static void a_note_is_shown(void **state) {
        assert_says(report(*state, "ended by a reboot", 0, 0, true), "note      ended by a reboot");
}

static void it_can_do_without_the_node(void **state) {
        assert_says(report(*state, "", 0, 0, false), "this node, rank 3");
}

static void nothing_of_a_job_reaches_the_terminal_raw(void **state) {
        const char *text = report(*state, "", 0, 0, true);

        assert_null(strchr(text, '\x1b'));
        assert_says(text, "resnet\\x1b[2J");
}

static void it_fits_on_one_screen(void **state) {
        const char *text = report(*state, "a note", 0, 0, true);
        unsigned n_lines = 0;

        for (const char *line = text; *line; line = strchr(line, '\n') + 1, n_lines++)
                assert_in_range(strcspn(line, "\n"), 0, 80);
        assert_in_range(n_lines, 10, 30);
}

static void answers_without_what_we_expect_do_no_harm(void **state) {
        Fixture *f = *state;
        static const char *const answers[] = { "{}", "[]", "null", "{\"metrics\":3,\"exit\":[],\"labels\":\"x\",\"id\":7,\"rank\":\"a\"}" };

        for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
                buffer_clear(&f->out);
                report_write(&f->screen, read_value(f, answers[i]), read_value(f, answers[i]), NULL);
                assert_int_equal(buffer_error(&f->out), 0);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_job_that_began_after_the_last_sample_has_just_begun),
                TEST(it_says_what_ran_where_how_long_and_how_it_ended),
                TEST(numbers_have_bars_units_and_marks),
                TEST(what_is_absent_says_why),
                TEST(a_signal_has_its_name),
                TEST(a_note_is_shown),
                TEST(it_can_do_without_the_node),
                TEST(nothing_of_a_job_reaches_the_terminal_raw),
                TEST(it_fits_on_one_screen),
                TEST(answers_without_what_we_expect_do_no_harm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
