/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/value_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "value/value_parse.h"

#define CACHE_BYTES_MAX (16U * 1024U * 1024U)
#define CACHE_MODE 0600

static bool is_own(int fd) {
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
               (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int value_cache_read(const TestTree *tree, const char *directory, const char *member, const char *key, Arena *arena,
                     const Value **ret) {
        scoped(buffer_deinit) Buffer text = { .n_max = CACHE_BYTES_MAX };
        scoped(closep) int fd = -1;
        char path[PATH_MAX];
        ValueError error;
        ssize_t k;
        int r;

        *ret = NULL;
        if (snprintf(path, sizeof(path), "%s/%s/%s", tree->root, directory, VALUE_CACHE_NAME) >= (int)sizeof(path))
                return 0;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || !is_own(fd))
                return 0;
        do
                k = buffer_read(&text, fd);
        while (k > 0 || k == -EINTR);
        if (k < 0)
                return k == -ENOMEM ? -ENOMEM : 0;
        r = value_parse_only(text.text, text.n, arena, ret, &error);
        if (r != 0 || strcmp(value_get_string(*ret, member) ?: "", key) != 0)
                *ret = NULL;
        return r < 0 ? r : 0;
}

void value_cache_write(const TestTree *tree, const char *directory, const Buffer *text) {
        scoped(closep) int fd = -1;
        char path[PATH_MAX];
        int known;

        if (snprintf(path, sizeof(path), "%s/%s", tree->root, directory) >= (int)sizeof(path))
                return;
        /* a test that became a link since it was found is not followed */
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        known = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", fd, VALUE_CACHE_NAME);
        if (fd >= 0 && known < (int)sizeof(path) && buffer_error(text) == 0)
                (void)file_replace(path, text->text, text->n, CACHE_MODE, false);
}

/* --- keys ----------------------------------------------------------------------------------------- */

static void put_stat(const char *path, const struct stat *st, Buffer *out) {
        buffer_printf(out, "%s %jd %jd.%ld %jd.%ld\n", path, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
                      st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

void value_cache_put_file(const TestTree *tree, const char *path, Buffer *out) {
        char full[PATH_MAX];
        struct stat st;
        int n = snprintf(full, sizeof(full), "%s%s%s", tree ? tree->root : "", tree ? "/" : "", path);

        if (n < (int)sizeof(full) && stat(full, &st) == 0)
                put_stat(path, &st, out);
}

static int compare_names(const FTSENT **a, const FTSENT **b) {
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

void value_cache_put_directory(const TestTree *tree, const char *path, Buffer *out) {
        char full[PATH_MAX], *const paths[] = { full, NULL };
        const FTSENT *entry;
        FTS *walk;

        if (snprintf(full, sizeof(full), "%s/%s", tree->root, path) >= (int)sizeof(full))
                return;
        walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
        while (walk && (entry = fts_read(walk)))
                if (entry->fts_info == FTS_F && strcmp(entry->fts_name, VALUE_CACHE_NAME) != 0)
                        put_stat(entry->fts_path, entry->fts_statp, out);
        if (walk)
                (void)fts_close(walk);
}
