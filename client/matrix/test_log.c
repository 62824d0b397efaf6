/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/test_log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/matrix/test_values.h"

/* Appends the end of a file from the beginning of a line on. */
static void put_end(int fd, off_t size, const char *name, Buffer *out) {
        char text[TEST_LOG_BYTES_MAX];
        off_t from = size > (off_t)sizeof(text) ? size - (off_t)sizeof(text) : 0;
        ssize_t n = pread(fd, text, sizeof(text), from);
        const char *begin = text, *line = from > 0 && n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

        if (line && line + 1 < text + n)
                begin = line + 1;
        if (n <= 0)
                return;
        buffer_printf(out, "%s%s:\n%s", out->n > 0 ? "\n" : "", name, from > 0 ? "…\n" : "");
        for (const char *p = begin; p < text + n; p++)
                buffer_putc(out, *p ?: ' ');
}

static int put_file(const TestTree *tree, TestRecord *record, const char *pattern, Buffer *out) {
        scoped(buffer_deinit) Buffer path = {};
        struct stat st;
        int fd, r;

        if (!results_file_is_inner_path(pattern))
                return 0;
        r = test_values_find(tree, record, pattern, &path);
        if (r != 0 || test_tree_open(tree, path.text, &fd, &st) != 0)
                return r < 0 ? r : 0;
        put_end(fd, st.st_size, path.text + strlen(record->path) + 1, out);
        (void)close(fd);
        return 0;
}

int test_log_put(const ResultsFile *file, const TestTree *tree, TestRecord *record, Buffer *out) {
        static const char *const defaults[] = { "stderr", "stdout" };
        const Value *logs = value_get_given(file->root, "logs");
        size_t n = logs ? logs->n_items : N_ELEMENTS(defaults);
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = put_file(tree, record, logs ? logs->items[i].string : defaults[i], out);
        return r < 0 ? r : buffer_error(out);
}
