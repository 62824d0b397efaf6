/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetching: directories and archives of test results from servers, by wget and tar
 *
 * Nothing is written outside of one directory, and no file larger than RESULTS_FETCH_BYTES_MAX.
 */

#include "value/value.h"

#define RESULTS_FETCH_BYTES_MAX (UINT64_C(16) << 30) /* of a file, of all files of a URL, and of those of an archive */
#define RESULTS_FETCH_MEMBERS_MAX 100000U /* of an archive */

/*
 * Fetches a URL (http or https) into a directory, which exists: what is below it, or an archive, which is unpacked into
 * a directory of its name. important: patterns of the files to be fetched beside those that make a test; NULL: all
 * files. What is there already is not fetched again. Returns EXIT_DONE; EXIT_USAGE for something that is no URL, or
 * EXIT_FAILED, after a message.
 */
int results_fetch(const char *url, const char *directory, const Value *important);
