/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Trees for the tests of the sampler
 *
 * Provides the trees of tests/data/trees, and copies that a test may change. Files are changed in place, since a
 * sampler keeps them open, as with the kernel's files.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"

#define TREES "tests/data/trees/"

/* Returns the text of a file below TREES; caller frees. */
static inline char *tree_text(const char *path) {
        char full[256], *text = NULL;

        (void)snprintf(full, sizeof(full), TREES "%s", path);
        assert_int_equal(file_read_at(AT_FDCWD, full, 1 << 20, &text, NULL), 0);
        return text;
}

/* Copies a tree into a new directory in `directory`. */
static inline void tree_copy_to(const char *directory, const char *tree, char ret_root[static 64]) {
        char command[256];

        (void)snprintf(ret_root, 64, "%s/perfd-test-XXXXXX", directory);
        assert_non_null(mkdtemp(ret_root));
        (void)snprintf(command, sizeof(command), "cp -a " TREES "%s/. %s/", tree, ret_root);
        assert_int_equal(system(command), 0);
}

static inline void tree_copy(const char *tree, char ret_root[static 64]) {
        tree_copy_to("/tmp", tree, ret_root);
}

static inline void tree_remove(const char *root) {
        char command[256];

        (void)snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
}

/* Changes the content of a file of the copy in place. */
static inline void tree_write(const char *root, const char *path, const char *text) {
        scoped(closep) int fd = -1;
        char full[512];

        (void)snprintf(full, sizeof(full), "%s/%s", root, path);
        fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
}
