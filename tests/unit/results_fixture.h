/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory of test results in /tmp, with the working directory beside it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/matrix/test_matrix.h"
#include "util/file.h"

typedef struct ResultsFixture {
        char root[32];
        char tree[48];
} ResultsFixture;

static inline int results_set_up(void **state) {
        ResultsFixture *fixture = calloc(1, sizeof(*fixture));

        *state = fixture;
        strcpy(fixture->root, "/tmp/perfd-test-XXXXXX");
        if (!mkdtemp(fixture->root))
                return -1;
        (void)snprintf(fixture->tree, sizeof(fixture->tree), "%s/tree", fixture->root);
        return mkdir(fixture->tree, 0777) < 0 ? -1 : chdir(fixture->root);
}

static inline int results_tear_down(void **state) {
        ResultsFixture *fixture = *state;
        char command[64];
        int r;

        (void)snprintf(command, sizeof(command), "rm -rf %s", fixture->root);
        r = chdir("/") < 0 ? -1 : system(command);
        free(fixture);
        return r;
}

/* path: relative to the working directory. */
static inline void results_put_bytes(const char *path, const void *text, size_t n) {
        assert_int_equal(file_make_parents(path, 0777), 0);
        assert_int_equal(file_replace(path, text, n, 0666, false), 0);
}

static inline void results_put(const char *path, const char *text) {
        results_put_bytes(path, text, strlen(text));
}

static inline const TestRecord *results_find(const TestTree *tree, const char *path) {
        for (size_t i = 0; i < tree->n; i++)
                if (strcmp(tree->records[i].path, path) == 0)
                        return &tree->records[i];
        return NULL;
}

/* Reads the tree with results.yaml. */
static inline void results_read(TestMatrix *matrix, int status) {
        assert_int_equal(test_matrix_read(matrix, &(TestMatrixOptions){ .directory = "tree" }), status);
}
