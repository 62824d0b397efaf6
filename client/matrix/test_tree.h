/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Test tree: a directory of test results in the layout of MatrixBenchmarking
 *
 * A directory with a file settings, settings.yaml or settings.yml is a test; there are no tests within a test. Its
 * settings are those of all files `settings` and settings.* in it and in the directories above it, up to the root of
 * the tree and no further: a directory overrides those above. A test without a usable exit_code is left out, as is
 * one with a file `skip`.
 *
 * The tree may have been written by others. Names that begin with a point are not entered. A link is followed only to
 * what is within the tree; a linked directory is found where it is, and not through the link.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "client/matrix/findings.h"
#include "request/request.h"

#define TEST_UUID_TEXT_MAX 37U
#define TEST_TREE_TESTS_MAX 100000U

typedef struct TestRecord {
        char *path;     /* owned; relative to the root; "." for the root itself */
        char *settings; /* owned; JSON object; NULL: left out */
        char *key;      /* owned; the settings without those that begin with @, sorted; equal keys are one entry */
        const char *left_out; /* why the test is left out; NULL: it is taken */
        uint8_t id[RESULT_ID_BYTES];
        int exit_code;
        uint64_t start_ns, end_ns; /* of the realtime clock: times of the settings and of exit_code */
        Findings findings;
} TestRecord;

typedef struct TestTree {
        char *root; /* owned; absolute, without links */
        TestRecord *records; /* owned; in the order of their paths */
        size_t n, n_allocated;
        Findings findings; /* about other directories */
} TestTree;

/* Reads the tree. 0 or a negative errno, if the directory cannot be read. Call test_tree_deinit() in all cases. */
int test_tree_read(TestTree *ret, const char *directory);
void test_tree_deinit(TestTree *tree);

enum {
        TEST_TREE_OUTSIDE = 1, /* a link leads out of the tree */
        TEST_TREE_NO_FILE,     /* a directory, pipe or device */
};

/* Opens a regular file of the tree. path: relative to the root. 0, an outcome, or a negative errno. */
int test_tree_open(const TestTree *tree, const char *path, int *ret_fd, struct stat *ret_stat);
/* Returns the reason for an outcome or errno of test_tree_open(). */
const char *test_tree_why(int outcome);

/* Formats an id with hyphens, as a UUID. */
void test_tree_format_uuid(const uint8_t id[static RESULT_ID_BYTES], char ret[static TEST_UUID_TEXT_MAX]);
