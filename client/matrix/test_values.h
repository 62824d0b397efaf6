/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Test values: what the files of one test say, by the rules of the declaration
 *
 * A value that is missing, or not of its type, is null, with a finding that names the file and the line.
 */

#include "client/matrix/remote_values.h"
#include "client/matrix/results_file.h"
#include "client/matrix/test_tree.h"

typedef struct TestValues {
        char *json;     /* owned; {"NAME": value, …} in the order of declaration */
        size_t n, n_missing; /* values, and those of them that are null */
        uint64_t start_ns, end_ns;
} TestValues;

void test_values_deinit(TestValues *values);

/* Reads the values of a test. has_cache: what was read before is taken from the cache in its directory. Findings go to
 * the record. 0 or a negative errno. */
int test_values_read(const ResultsFile *file, const TestTree *tree, TestRecord *record, RemoteValues *remote,
                     bool has_cache, TestValues *ret);

/*
 * Whether a test has a cache for the declaration. is_new: it was just fetched, from where the same declaration was
 * used: it becomes one for the files that are here, even if they are fewer. 0 or -ENOMEM.
 */
int test_values_adopt(const ResultsFile *file, const TestTree *tree, TestRecord *record, bool is_new,
                      bool *ret_has_cache);

/* Finds the file of a test that matches a pattern, the last of several with a finding. ret_path: relative to the tree.
 * 0, ENOENT or -ENOMEM. */
int test_values_find(const TestTree *tree, TestRecord *record, const char *pattern, Buffer *ret_path);
