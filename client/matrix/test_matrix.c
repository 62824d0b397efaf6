/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/test_matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/matrix/payload.h"
#include "json/json_text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"

#define PROGRESS_TESTS 50U

void test_matrix_deinit(TestMatrix *matrix) {
        for (size_t i = 0; matrix->values && i < matrix->tree.n; i++)
                test_values_deinit(&matrix->values[i]);
        free(matrix->values);
        results_file_deinit(&matrix->file);
        test_tree_deinit(&matrix->tree);
}

/* --- reading -------------------------------------------------------------------------------------- */

static int count_entries(TestMatrix *matrix) {
        scoped(freep) const char **taken = calloc(matrix->tree.n + 1, sizeof(*taken));
        size_t n = 0;

        if (!taken)
                return -ENOMEM;
        for (size_t i = 0; i < matrix->tree.n; i++)
                if (!matrix->tree.records[i].left_out)
                        taken[n++] = matrix->tree.records[i].key;
        array_sort_texts(taken, n);
        for (size_t i = 0; i < n; i++)
                matrix->n_entries += i == 0 || strcmp(taken[i], taken[i - 1]) != 0;
        return 0;
}

static int read_values(TestMatrix *matrix, const TestMatrixOptions *options) {
        scoped(remote_values_deinit) RemoteValues remote = { .global = options->global };
        int r = 0;

        matrix->values = calloc(matrix->tree.n + 1, sizeof(*matrix->values));
        if (!matrix->values)
                return -ENOMEM;
        for (size_t i = 0; i < matrix->tree.n && r == 0; i++) {
                TestRecord *record = &matrix->tree.records[i];

                matrix->n_left_out += record->left_out != NULL;
                if (record->left_out)
                        continue;
                matrix->n_taken++;
                matrix->n_failed += record->exit_code != 0;
                r = test_values_read(&matrix->file, &matrix->tree, record, &remote, options->has_cache,
                                     &matrix->values[i]);
                if (options->shows_progress && matrix->n_taken % PROGRESS_TESTS == 0)
                        message_print("parsed %zu of %zu tests", i + 1, matrix->tree.n);
        }
        return r == 0 ? count_entries(matrix) : r;
}

void test_matrix_print_findings(const TestMatrix *matrix) {
        Findings all = {};

        for (size_t i = 0; i <= matrix->tree.n; i++) {
                const Findings *part = i == 0 ? &matrix->tree.findings : &matrix->tree.records[i - 1].findings;

                buffer_put(&all.text, part->text.text ?: "", part->text.n);
                all.n_errors += part->n_errors;
                all.n_warnings += part->n_warnings;
        }
        findings_print(&all);
        findings_deinit(&all);
}

int test_matrix_read(TestMatrix *ret, const TestMatrixOptions *options) {
        int r;

        *ret = (TestMatrix){};
        r = test_tree_read(&ret->tree, options->directory);
        if (r < 0) {
                message_print("cannot read %s: %s", options->directory, error_text(-r));
                return EXIT_FAILED;
        }
        r = results_file_open(&ret->file, options->config, &ret->tree, options->presets, options->n_presets);
        if (r != EXIT_DONE)
                return r;
        r = read_values(ret, options);
        if (r < 0)
                return command_fail(r);
        if (ret->n_taken > 0)
                return EXIT_DONE;
        test_matrix_print_findings(ret);
        message_print("%s: no test has ended; a test is a directory with settings.yaml and exit_code (left out: %zu)",
                      options->directory, ret->n_left_out);
        return EXIT_FAILED;
}

size_t test_matrix_count_errors(const TestMatrix *matrix) {
        size_t n = matrix->tree.findings.n_errors;

        for (size_t i = 0; i < matrix->tree.n; i++)
                n += matrix->tree.records[i].findings.n_errors;
        return n;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void put_test(const TestMatrix *matrix, size_t i, Json *json) {
        const TestRecord *record = &matrix->tree.records[i];
        const TestValues *values = &matrix->values[i];
        char uuid[TEST_UUID_TEXT_MAX];

        test_tree_format_uuid(record->id, uuid);
        json_object_begin(json);
        json_put_string(json, "path", record->path);
        json_put_string(json, "test_uuid", uuid);
        json_put_string(json, "state", record->exit_code == 0 ? "finished" : "failed");
        json_put_int(json, "exit_code", record->exit_code);
        payload_put_time(json, "start", values->start_ns);
        payload_put_time(json, "end", values->end_ns);
        json_key(json, "settings");
        json_raw(json, record->settings);
        json_key(json, "values");
        json_raw(json, values->json);
        json_key(json, "findings");
        findings_write_json(&record->findings, json);
        json_object_end(json);
}

static void put_left_out(const TestRecord *record, Json *json) {
        json_object_begin(json);
        json_put_string(json, "path", record->path);
        json_put_string(json, "reason", record->left_out);
        json_key(json, "findings");
        findings_write_json(&record->findings, json);
        json_object_end(json);
}

void test_matrix_write_units(const TestMatrix *matrix, Json *json) {
        const ResultsFile *file = &matrix->file;

        json_put_object_begin(json, "units");
        for (size_t i = 0; i < file->n_rules; i++)
                if (file->rules[i].unit)
                        json_put_string(json, file->rules[i].name, file->rules[i].unit);
        json_object_end(json);
}

void test_matrix_write_left_out(const TestMatrix *matrix, Json *json) {
        json_put_array_begin(json, "left_out");
        for (size_t i = 0; i < matrix->tree.n; i++)
                if (matrix->tree.records[i].left_out)
                        put_left_out(&matrix->tree.records[i], json);
        json_array_end(json);
        json_key(json, "findings");
        findings_write_json(&matrix->tree.findings, json);
}

void test_matrix_write_json(const TestMatrix *matrix, Json *json) {
        json_object_begin(json);
        json_put_string(json, "name", matrix->file.name);
        json_put_uint(json, "entries", matrix->n_entries);
        test_matrix_write_units(matrix, json);
        json_put_array_begin(json, "tests");
        for (size_t i = 0; i < matrix->tree.n; i++)
                if (!matrix->tree.records[i].left_out)
                        put_test(matrix, i, json);
        json_array_end(json);
        test_matrix_write_left_out(matrix, json);
        json_object_end(json);
}

/* --- table ---------------------------------------------------------------------------------------- */

/* Writes "threads=4 dtype=float32". */
static void put_settings(const char *settings, Buffer *out) {
        JsonWalk walk = json_text_walk(json_text(settings, strlen(settings)));
        JsonText key, value;

        for (bool is_first = true; json_text_walk_next(&walk, &key, &value); is_first = false) {
                if (!is_first)
                        buffer_putc(out, ' ');
                json_text_decode(key, out);
                buffer_putc(out, '=');
                json_text_decode(value, out);
        }
}

static void put_row(const TestMatrix *matrix, size_t i, Grid *grid) {
        const TestRecord *record = &matrix->tree.records[i];
        const TestValues *values = &matrix->values[i];
        scoped(buffer_deinit) Buffer settings = {}, found = {}, state = {};

        grid_whole(grid, record->path);
        if (record->settings)
                put_settings(record->settings, &settings);
        grid_text(grid, settings.text ?: "-");
        if (record->left_out)
                buffer_puts(&state, record->left_out);
        else if (record->exit_code == 0)
                buffer_puts(&state, "finished");
        else
                buffer_printf(&state, "failed: exit %d", record->exit_code);
        grid_text(grid, state.text ?: "");
        if (record->left_out || record->exit_code != 0)
                grid_style(grid, record->left_out ? STYLE_DIM : STYLE_BAD);
        if (!record->left_out)
                buffer_printf(&found, "%zu of %zu", values->n - values->n_missing, values->n);
        grid_right(grid, found.text ?: "-");
        grid_count(grid, record->findings.n_errors + record->findings.n_warnings);
}

int test_matrix_write_table(const TestMatrix *matrix, Screen *screen, bool is_cut) {
        scoped(grid_deinit) Grid grid = {};
        int r;

        grid_init_heads(&grid, "TEST|SETTINGS|STATE|>VALUES|>FINDINGS");
        for (size_t i = 0; i < matrix->tree.n; i++)
                put_row(matrix, i, &grid);
        r = grid_write(&grid, screen, is_cut);
        screen_line(screen, "%zu tests of %zu settings, %zu failed; %zu left out", matrix->n_taken, matrix->n_entries,
                    matrix->n_failed, matrix->n_left_out);
        return r;
}
