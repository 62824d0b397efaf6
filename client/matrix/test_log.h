/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Test log: the end of what a test has printed, for reports about tests that failed */

#include "client/matrix/results_file.h"
#include "client/matrix/test_tree.h"

#define TEST_LOG_BYTES_MAX 4096U /* of each file */

/* Appends "NAME:" and the last lines of each file that the declaration's `logs` match (default: stderr and stdout);
 * nothing where there is none. 0 or -ENOMEM. */
int test_log_put(const ResultsFile *file, const TestTree *tree, TestRecord *record, Buffer *out);
