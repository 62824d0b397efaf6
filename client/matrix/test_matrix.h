/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Test matrix: the tests of a directory with their values
 *
 * Tests with the same settings, apart from those that begin with @, are one entry.
 */

#include "client/cli/screen.h"
#include "client/matrix/results_file.h"
#include "client/matrix/test_tree.h"
#include "client/matrix/test_values.h"
#include "json/json.h"

typedef struct TestMatrix {
        TestTree tree;
        ResultsFile file;
        TestValues *values; /* owned; of the records of the tree */
        size_t n_taken, n_failed, n_left_out, n_entries;
} TestMatrix;

typedef struct TestMatrixOptions {
        const char *directory, *config; /* config NULL: results.yaml in the current directory */
        const char *const *presets;
        size_t n_presets;
        const GlobalOptions *global; /* where perfd is; NULL: perfd is not asked for metrics of jobs */
        bool shows_progress, has_cache;
} TestMatrixOptions;

/*
 * Reads the declaration, the tests and their values. Returns EXIT_DONE, or an
 * exit status after a message if there are no values at all: what is wrong with single tests is no failure here.
 * Call test_matrix_deinit() in all cases.
 */
int test_matrix_read(TestMatrix *ret, const TestMatrixOptions *options);
void test_matrix_deinit(TestMatrix *matrix);

/* Prints the findings of all tests. */
void test_matrix_print_findings(const TestMatrix *matrix);
/* Number of errors among the findings. */
size_t test_matrix_count_errors(const TestMatrix *matrix);

/* Writes the members "left_out" and "findings" of an object, and "units". */
void test_matrix_write_left_out(const TestMatrix *matrix, Json *json);
void test_matrix_write_units(const TestMatrix *matrix, Json *json);
/* Writes {"tests": […], "left_out": […], "findings": […]}. */
void test_matrix_write_json(const TestMatrix *matrix, Json *json);
/* Writes a table of the tests. 0 or -ENOMEM. */
int test_matrix_write_table(const TestMatrix *matrix, Screen *screen, bool is_cut);
