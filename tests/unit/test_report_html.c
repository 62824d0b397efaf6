/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "client/cli/command.h"
#include "client/report/report_html.h"
#include "report_fixture.h"

#define RANK(rank)                                                                                         \
        "{\"id\":\"t." #rank "\",\"name\":\"</script><b>\",\"rank\":" #rank ",\"state\":\"finished\","      \
        "\"metrics\":[],\"begin_ms\":1000,\"end_ms\":2000}"

static const char reports[] = RANK(0) RANK(1);

typedef struct Page {
        ReportRun run;
        char directory[32], path[64];
} Page;

static void page_init(Page *page) {
        *page = (Page){ .directory = "/tmp/perfd-html-XXXXXX" };
        assert_non_null(mkdtemp(page->directory));
        snprintf(page->path, sizeof(page->path), "%s/run.html", page->directory);
        if (report_run_add(&page->run, "f", reports, strlen(reports)) != 0)
                fail_msg("%s", page->run.error);
        assert_int_equal(report_run_join(&page->run), 0);
}

static void page_deinit(Page *page) {
        report_run_deinit(&page->run);
        (void)unlink(page->path);
        assert_int_equal(rmdir(page->directory), 0);
}

/* Returns the data of the page; the caller frees it. */
static char *read_data(const char *text) {
        const char *begin = strstr(text, "id=\"data\">"), *end;

        assert_non_null(begin);
        begin += strlen("id=\"data\">");
        end = strstr(begin, "</script>");
        assert_non_null(end);
        return strndup(begin, (size_t)(end - begin));
}

static void data_of_jobs_cannot_end_their_element(void **state) {
        scoped(freep) char *text = NULL, *data = NULL;
        const Value *all, *list;
        Page page;

        page_init(&page);
        assert_int_equal(report_html_write_run(&page.run, page.path), EXIT_DONE);
        read_whole(page.path, &text);
        data = read_data(text);
        assert_null(strchr(data, '<'));
        all = read_value(*state, data);
        list = value_get(all, "reports");
        assert_int_equal(answer_length(list), 2);
        assert_string_equal(answer_text(value_get(&list->items[1], "job"), "name"), "</script><b>");
        assert_string_equal(answer_text(all, "version"), PERFD_VERSION);
        assert_non_null(strstr(text, "Content-Security-Policy"));
        assert_null(strstr(text, "@DATA@"));
        page_deinit(&page);
}

static void a_page_replaces_a_file_only(void **state) {
        scoped(freep) char *text = NULL;
        struct stat st;
        Page page;

        (void)state;
        page_init(&page);
        assert_int_equal(mkfifo(page.path, 0600), 0);
        assert_int_equal(report_html_write_run(&page.run, page.path), EXIT_FAILED);
        assert_int_equal(stat(page.path, &st), 0);
        assert_true(S_ISFIFO(st.st_mode));
        assert_int_equal(unlink(page.path), 0);

        assert_int_equal(file_replace(page.path, "old", 3, 0600, false), 0);
        assert_int_equal(report_html_write_run(&page.run, page.path), EXIT_DONE);
        read_whole(page.path, &text);
        assert_memory_equal(text, "<!doctype html>", 15);
        assert_int_equal(report_html_write_run(&page.run, "/nowhere/run.html"), EXIT_FAILED);
        page_deinit(&page);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(data_of_jobs_cannot_end_their_element, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_page_replaces_a_file_only, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
