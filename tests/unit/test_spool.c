/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "client/deliver/spool.h"
#include "client/wire/id.h"
#include "util/file.h"
#include "value/value_parse.h"

typedef struct Fixture {
        char directory[PATH_MAX];
        Arena arena;
        Submission items[2];
        Batch batch;
} Fixture;

static const Value *read_document(Arena *arena, const char *text) {
        ValueReader reader;
        ValueError error;
        const Value *value;

        value_parse_begin(&reader, text, strlen(text));
        assert_int_equal(value_parse_next(&reader, arena, &value, &error), 0);
        return value;
}

static int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));
        Complaint complaint;

        *state = f;
        strcpy(f->directory, "/tmp/perfd-spool-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        assert_int_equal(arena_init(&f->arena, 1024 * 1024), 0);

        for (unsigned i = 0; i < 2; i++) {
                f->items[i].job = i ? "job-1" : "";
                f->items[i].time_ms = 1700000000000 + i;
                assert_int_equal(id_make_result(f->items[i].time_ms, f->items[i].id), 0);
                assert_int_equal(indicator_from_value(read_document(&f->arena, "{\"name\":\"M\",\"component\":\"c\",\"@"
                                                                               "parameters\":{\"n\":3},"
                                                                               "\"@result\":{\"rate\":1.0,\"text\":"
                                                                               "\"a\\n\\\"ü\",\"deep\":{\"l\":[1,2.5,"
                                                                               "null,true]}},"
                                                                               "\"overall_score\":0.5}"),
                                                      DOCUMENT_LIMITS_DEFAULT, &f->items[i].indicator, &complaint),
                                 0);
        }
        f->batch = (Batch){ .items = f->items, .n_items = 2, .ended_job = "job-1" };
        f->batch.end = (JobEnd){ .has_exit_status = true, .exit_status = 137, .signal = 9, .has_rusage = true,
                                 .rusage = { .ru_utime = 1.25, .ru_maxrss = 4096, .ru_nivcsw = INT64_C(1) << 40 } };
        return 0;
}

static void remove_tree(const char *path) {
        DIR *dir = opendir(path);
        struct dirent *entry;
        char inner[PATH_MAX];

        while (dir && (entry = readdir(dir))) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                assert_true(snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) < PATH_MAX);
                if (entry->d_type == DT_DIR)
                        remove_tree(inner);
                else
                        (void)unlink(inner);
        }
        if (dir)
                closedir(dir);
        (void)rmdir(path);
}

static int tear_down(void **state) {
        Fixture *f = *state;

        remove_tree(f->directory);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static void a_batch_round_trips(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {}, again = {};
        scoped(arena_deinit) Arena arena = {};
        Batch batch;

        assert_int_equal(spool_format_batch(&f->batch, &text), 0);
        assert_int_equal(arena_init(&arena, spool_batch_arena_size(text.n)), 0);
        assert_int_equal(spool_parse_batch(text.text, text.n, &arena, &batch), 0);

        assert_int_equal(batch.n_items, 2);
        for (unsigned i = 0; i < 2; i++) {
                assert_memory_equal(batch.items[i].id, f->items[i].id, RESULT_ID_BYTES);
                assert_string_equal(batch.items[i].job, f->items[i].job);
                assert_int_equal(batch.items[i].time_ms, f->items[i].time_ms);
                assert_string_equal(batch.items[i].indicator.name, "M");
        }
        assert_string_equal(batch.ended_job, "job-1");
        assert_int_equal(batch.end.exit_status, 137);
        assert_int_equal(batch.end.signal, 9);
        assert_true(batch.end.has_rusage);
        assert_true(batch.end.rusage.ru_utime == 1.25);
        assert_true(batch.end.rusage.ru_nivcsw == INT64_C(1) << 40);

        assert_int_equal(spool_format_batch(&batch, &again), 0);
        assert_string_equal(text.text, again.text);
}

static void run_records_and_failed_runs_round_trip(void **state) {
        Fixture *f = *state;
        scoped(buffer_deinit) Buffer text = {}, again = {};
        scoped(arena_deinit) Arena arena = {};
        const Submission *item;
        Batch batch;

        f->items[0].has_exit_status = f->items[0].has_batch = true;
        memcpy(f->items[0].batch, "fedcba9876543210", RESULT_ID_BYTES);
        f->items[0].batch_index = 7;
        f->items[0].run = read_document(&f->arena, "{\"stderr\":\"a\\u0001\",\"rusage\":{\"ru_utime\":0.5}}");
        f->items[1].has_exit_status = true;
        f->items[1].exit_status = 139;
        f->items[1].indicator = (Indicator){ .name = "PiMatmul", .version = "1" };

        assert_int_equal(spool_format_batch(&f->batch, &text), 0);
        assert_int_equal(arena_init(&arena, spool_batch_arena_size(text.n)), 0);
        assert_int_equal(spool_parse_batch(text.text, text.n, &arena, &batch), 0);
        item = &batch.items[0];
        assert_true(item->has_exit_status);
        assert_int_equal(item->exit_status, 0);
        assert_memory_equal(item->batch, "fedcba9876543210", RESULT_ID_BYTES);
        assert_int_equal(item->batch_index, 7);
        assert_string_equal(value_get_string(item->run, "stderr"), "a\x01");
        item = &batch.items[1];
        assert_int_equal(item->exit_status, 139);
        assert_string_equal(item->indicator.name, "PiMatmul");
        assert_null(item->indicator.component);
        assert_string_equal(item->indicator.version, "1");
        assert_null(item->indicator.document);
        assert_false(item->has_batch);
        assert_int_equal(spool_format_batch(&batch, &again), 0);
        assert_string_equal(text.text, again.text);
}

static void an_end_without_status_stays_without(void **state) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        Batch batch = { .ended_job = "j" };

        (void)state;
        assert_int_equal(spool_format_batch(&batch, &text), 0);
        assert_int_equal(arena_init(&arena, spool_batch_arena_size(text.n)), 0);
        assert_int_equal(spool_parse_batch(text.text, text.n, &arena, &batch), 0);
        assert_false(batch.end.has_exit_status);
        assert_false(batch.end.has_rusage);
        assert_int_equal(batch.n_items, 0);
}

static void an_invalid_batch_is_malformed(void **state) {
        static const char *const texts[] = {
                "", "\n\n\n\n", "{}\n", "not JSON at all, but one line of enough text\n",
                "{\"kind\":\"other\",\"job\":\"j\",\"padding\":\"padding\"}\n",
                "{\"kind\":\"indicator\",\"id\":\"xyz\",\"job\":\"\",\"time_ms\":1,\"document\":{}}\n",
                "{\"kind\":\"job_end\",\"job\":\"j\",\"signal\":0,\"exit\":0}", /* incomplete: no newline */
                "{\"kind\":\"job_end\",\"job\":\"j\",\"signal\":-1,\"exit\":0}\n",
        };

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
                scoped(arena_deinit) Arena arena = {};
                Batch batch;

                assert_int_equal(arena_init(&arena, spool_batch_arena_size(strlen(texts[i]))), 0);
                if (spool_parse_batch(texts[i], strlen(texts[i]), &arena, &batch) != SPOOL_MALFORMED)
                        fail_msg("'%s' was taken", texts[i]);
        }
}

static void files_appear_whole_private_and_in_order(void **state) {
        Fixture *f = *state;
        char name[SPOOL_NAME_MAX], path[PATH_MAX], nested[PATH_MAX];
        struct dirent **entries;
        struct stat st;
        size_t n;

        assert_true(snprintf(nested, sizeof(nested), "%s/a/b", f->directory) < PATH_MAX);
        for (uint64_t ms = 3; ms > 0; ms--)
                assert_int_equal(spool_put(nested, &f->batch, ms * 1000000000, name), 0);

        assert_true(snprintf(path, sizeof(path), "%s/%s", nested, name) < PATH_MAX);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(stat(nested, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);

        assert_int_equal(spool_list(nested, &entries, &n), 0);
        assert_int_equal(n, 3);
        assert_string_equal(entries[0]->d_name, name); /* the last file written is the oldest */
        assert_true(strcmp(entries[0]->d_name, entries[1]->d_name) < 0 &&
                    strcmp(entries[1]->d_name, entries[2]->d_name) < 0);
        spool_entries_free(entries, n);
}

static void only_finished_files_are_listed(void **state) {
        Fixture *f = *state;
        static const char *const others[] = { "x.jsonl.123.tmp", ".hidden.jsonl", "readme.txt", ".jsonl" };
        char path[PATH_MAX];
        struct dirent **entries;
        size_t n;

        for (size_t i = 0; i < N_ELEMENTS(others); i++) {
                assert_true(snprintf(path, sizeof(path), "%s/%s", f->directory, others[i]) < PATH_MAX);
                assert_int_equal(file_replace(path, "x", 1, 0600, false), 0);
        }
        assert_int_equal(spool_list(f->directory, &entries, &n), 0);
        assert_int_equal(n, 0);
        spool_entries_free(entries, n);
}

static void a_full_spool_takes_no_more_files(void **state) {
        Fixture *f = *state;
        char first[PATH_MAX], path[PATH_MAX], name[SPOOL_NAME_MAX];

        assert_int_equal(spool_put(f->directory, &f->batch, 1, name), 0);
        assert_true(snprintf(first, sizeof(first), "%s/%s", f->directory, name) < PATH_MAX);
        for (unsigned i = 1; i < SPOOL_FILES_MAX; i++) { /* links are made faster than files */
                assert_true(snprintf(path, sizeof(path), "%s/%u.jsonl", f->directory, i) < PATH_MAX);
                assert_int_equal(link(first, path), 0);
        }
        assert_int_equal(spool_put(f->directory, &f->batch, 2, name), -ENOSPC);
}

static void a_missing_spool_is_empty(void **state) {
        struct dirent **entries;
        size_t n;

        (void)state;
        assert_int_equal(spool_list("/nonexistent/perfd", &entries, &n), 0);
        assert_int_equal(n, 0);
        spool_entries_free(entries, n);
}

static void a_file_has_one_sender_at_a_time(void **state) {
        Fixture *f = *state;
        char name[SPOOL_NAME_MAX];
        SpoolFile first, second;

        assert_int_equal(spool_put(f->directory, &f->batch, 1, name), 0);
        assert_int_equal(spool_open(f->directory, name, &first), 0);
        assert_int_equal(spool_open(f->directory, name, &second), SPOOL_GONE);
        spool_close(&first);

        assert_int_equal(spool_open(f->directory, name, &first), 0);
        assert_int_equal(spool_remove(f->directory, name), 0);
        spool_close(&first);
        assert_int_equal(spool_open(f->directory, name, &second), SPOOL_GONE);
}

static void a_rejected_file_is_kept_with_the_reason(void **state) {
        Fixture *f = *state;
        char name[SPOOL_NAME_MAX], path[PATH_MAX];
        struct dirent **entries;
        char *text;
        size_t n;

        assert_int_equal(spool_put(f->directory, &f->batch, 1, name), 0);
        assert_int_equal(spool_reject(f->directory, name, "no such job"), 0);
        assert_int_equal(spool_list(f->directory, &entries, &n), 0);
        assert_int_equal(n, 0);
        spool_entries_free(entries, n);

        assert_true(snprintf(path, sizeof(path), "%s/rejected/%s.reason", f->directory, name) < PATH_MAX);
        assert_int_equal(file_read_at(-1, path, 1000, &text, NULL), 0);
        assert_string_equal(text, "no such job\n");
        free(text);
        path[strlen(path) - strlen(".reason")] = '\0';
        assert_int_equal(access(path, R_OK), 0);
}

static void a_link_is_not_followed(void **state) {
        Fixture *f = *state;
        char path[PATH_MAX];
        SpoolFile file;

        assert_true(snprintf(path, sizeof(path), "%s/a.jsonl", f->directory) < PATH_MAX);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        assert_int_equal(spool_open(f->directory, "a.jsonl", &file), SPOOL_ODD);
        assert_string_equal(file.reason, "a symbolic link");
}

static void the_place_follows_the_environment(void **state) {
        char path[PATH_MAX], host[256] = "", expected[PATH_MAX];

        (void)state;
        assert_int_equal(spool_find_directory("/given", path), 0);
        assert_string_equal(path, "/given");
        assert_int_equal(setenv("PERFD_SPOOL", "/told", 1), 0);
        assert_int_equal(spool_find_directory(NULL, path), 0);
        assert_string_equal(path, "/told");
        assert_int_equal(unsetenv("PERFD_SPOOL"), 0);
        if (geteuid() == 0) {
                assert_int_equal(spool_find_directory(NULL, path), 0);
                assert_string_equal(path, "/var/spool/perfd");
                return;
        }

        assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
        assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
        assert_int_equal(spool_find_directory(NULL, path), 0);
        assert_true(snprintf(expected, sizeof(expected), "/state/perfd/spool/%s", host) < PATH_MAX);
        assert_string_equal(path, expected);

        assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
        assert_int_equal(unsetenv("HOME"), 0);
        assert_int_equal(spool_find_directory(NULL, path), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_batch_round_trips),
                TEST(run_records_and_failed_runs_round_trip),
                TEST(an_end_without_status_stays_without),
                TEST(an_invalid_batch_is_malformed),
                TEST(files_appear_whole_private_and_in_order),
                TEST(only_finished_files_are_listed),
                TEST(a_full_spool_takes_no_more_files),
                TEST(a_missing_spool_is_empty),
                TEST(a_file_has_one_sender_at_a_time),
                TEST(a_rejected_file_is_kept_with_the_reason),
                TEST(a_link_is_not_followed),
                TEST(the_place_follows_the_environment),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
