/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_tree.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "client/cli/message.h"
#include "client/sweep/sweep_text.h"
#include "text/encoding.h"
#include "text/yaml.h"
#include "util/array.h"
#include "util/file.h"
#include "util/utf8.h"

#define SETTINGS_BYTES_MAX (4U * 1024U * 1024U)

static void record_deinit(SweepRecord *record) {
        free(record->identity);
        free(record->directory);
}

void sweep_tree_deinit(SweepTree *tree) {
        for (size_t i = 0; i < tree->n_records; i++)
                record_deinit(&tree->records[i]);
        free(tree->records);
        free(tree->path);
        closep(&tree->fd);
        *tree = (SweepTree){ .fd = -1 };
}

bool sweep_tree_parse_exit_code(const char *text, int *ret) {
        char *end;
        long code;

        errno = 0;
        code = strtol(text, &end, 10);
        if (end == text || errno != 0 || code < INT_MIN || code > INT_MAX || end[strspn(end, " \t\r\n")] != '\0')
                return false;

        *ret = (int)code;
        return true;
}

/* --- reading -------------------------------------------------------------------------------------- */

static int identify(char *text, size_t n, Buffer *out, const char *directory) {
        scoped(arena_deinit) Arena arena = {};
        const Value *settings;
        YamlError error;
        int r;

        if (encoding_unify(text, &n) == ENCODING_FOREIGN) {
                message_print("%s/" SWEEP_FILE_SETTINGS ": " ENCODING_FOREIGN_TEXT "; the point counts as not recorded",
                              directory);
                return ENCODING_FOREIGN;
        }
        r = arena_init(&arena, yaml_arena_size(n));
        if (r == 0)
                r = yaml_read(text, n, &arena, &settings, &error);
        if (r == YAML_MALFORMED)
                message_print("%s/" SWEEP_FILE_SETTINGS ":%u:%u: %s; the point counts as not recorded", directory,
                              error.line, error.column, error.text);
        return r != 0 ? r : sweep_text_identify(settings, out);
}

static int add_record(SweepTree *tree, SweepRecord **ret) {
        assert(tree->n_records <= tree->n_allocated);
        if (ARRAY_RESERVE(tree->records, tree->n_allocated, tree->n_records + 1) < 0)
                return -ENOMEM;

        *ret = &tree->records[tree->n_records++];
        **ret = (SweepRecord){};
        return 0;
}

/* A directory without readable settings is not a point. */
static int read_record(SweepTree *tree, const char *name) {
        scoped(buffer_deinit) Buffer identity = {};
        scoped(freep) char *settings = NULL, *code = NULL;
        scoped(closep) int fd = openat(tree->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        SweepRecord *record;
        size_t n;
        int r;

        if (fd < 0 || file_read_at(fd, SWEEP_FILE_SETTINGS, SETTINGS_BYTES_MAX, &settings, &n) < 0)
                return 0;
        r = identify(settings, n, &identity, name);
        if (r == 0)
                r = add_record(tree, &record);
        if (r != 0)
                return r < 0 ? r : 0;

        record->is_done = file_read_at(fd, SWEEP_FILE_EXIT_CODE, 64, &code, NULL) == 0 &&
                          sweep_tree_parse_exit_code(code, &record->exit_code);
        record->identity = buffer_take(&identity);
        record->directory = strdup(name);
        return record->identity && record->directory ? 0 : -ENOMEM;
}

static int compare_identities(const void *a, const void *b) {
        return strcmp(((const SweepRecord *)a)->identity, ((const SweepRecord *)b)->identity);
}

static int compare_records(const void *a, const void *b) {
        const SweepRecord *x = a, *y = b;

        return compare_identities(x, y) ?: COMPARE(y->is_done, x->is_done) ?: strcmp(x->directory, y->directory);
}

static int read_records(SweepTree *tree) {
        scoped(closedirp) DIR *directory = file_open_list(tree->fd, ".");
        struct dirent *entry;
        int r;

        if (!directory)
                return -errno;
        while ((errno = 0, entry = readdir(directory))) {
                if (entry->d_name[0] == '.')
                        continue;
                r = read_record(tree, entry->d_name);
                if (r < 0)
                        return r;
        }
        if (errno != 0)
                return -errno;

        if (tree->n_records > 0)
                qsort(tree->records, tree->n_records, sizeof(*tree->records), compare_records);
        return 0;
}

/* The kernel releases the lock when this process ends. Some file systems have no locks. */
static int open_directory(SweepTree *tree, const char *path, bool create) {
        char real[PATH_MAX];
        int r = create ? file_make_dirs(path, 0777) : 0;

        if (r < 0)
                return r;
        tree->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (tree->fd < 0)
                return -errno;
        if (!realpath(path, real))
                return -errno;
        tree->path = strdup(real);
        if (!tree->path)
                return -ENOMEM;
        return create && flock(tree->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? SWEEP_TREE_BUSY : 0;
}

int sweep_tree_open(SweepTree *ret, const char *path, bool create) {
        scoped(sweep_tree_deinit) SweepTree tree = { .fd = -1 };
        int r;

        r = open_directory(&tree, path, create);
        if (r == -ENOENT && !create)
                r = 0;
        else if (r == 0)
                r = read_records(&tree);
        if (r != 0)
                return r;

        *ret = tree;
        tree = (SweepTree){ .fd = -1 };
        return 0;
}

/* Returns the first of the records with this identity. */
const SweepRecord *sweep_tree_find(const SweepTree *tree, const char *identity) {
        const SweepRecord key = { .identity = (char *)identity };
        const SweepRecord *found = NULL;

        if (tree->n_records > 0)
                found = bsearch(&key, tree->records, tree->n_records, sizeof(key), compare_identities);
        while (found > tree->records && compare_identities(found - 1, &key) == 0)
                found--;
        return found;
}

int sweep_tree_match(const SweepTree *tree, const SweepPlan *plan, const SweepRecord ***ret) {
        scoped(freep) const SweepRecord **records = calloc(plan->n_points, sizeof(const SweepRecord *));
        scoped(buffer_deinit) Buffer identity = {};
        Member all[SWEEP_SETTINGS_MAX];

        for (size_t i = 0; records && tree->n_records > 0 && i < plan->n_points; i++) {
                const Value settings = sweep_plan_settings(plan, &plan->points[i], all);

                buffer_clear(&identity);
                if (sweep_text_identify(&settings, &identity) < 0)
                        return -ENOMEM;
                records[i] = sweep_tree_find(tree, identity.text);
        }

        *ret = TAKE(records);
        return *ret ? 0 : -ENOMEM;
}

/* --- writing -------------------------------------------------------------------------------------- */

/* Each character that a file name or a shell might stumble over becomes an underscore. */
static void put_safe(Buffer *out, const char *text, size_t n_max) {
        size_t n = strlen(text);

        while (n > 0 && out->n < n_max) {
                size_t k = utf8_length(text, n);
                bool is_safe = k == 1 &&
                               strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+,@%:-", *text);

                if (k == 0)
                        k = 1;
                if (is_safe && *text == '.' && out->n > 0 && out->text && out->text[out->n - 1] == '.')
                        is_safe = false;
                buffer_putc(out, is_safe ? *text : '_');
                text += k;
                n -= k;
        }
}

void sweep_tree_put_directory(Buffer *out, const SweepPlan *plan, const SweepPoint *point, size_t number) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n_max = out->n + SWEEP_DIRECTORY_MAX;

        buffer_printf(out, "%03zu", number);
        for (size_t i = 0; i < block->n && out->n + 2 < n_max; i++) {
                buffer_puts(out, "__");
                put_safe(out, block->settings[i].key, n_max);
                if (out->n < n_max)
                        buffer_putc(out, '=');
                put_safe(out, sweep_plan_text(plan, point, i), n_max);
        }
}

#define TRIES_MAX 1000

/* An existing directory that has settings belongs to another point: the file of the sweep has changed since. */
static int make_directory(const SweepTree *tree, const SweepPlan *plan, const SweepPoint *point, size_t number,
                          Buffer *path) {
        size_t n_before = path->n, n_name;

        sweep_tree_put_directory(path, plan, point, number);
        n_name = path->n;
        for (int i = 2; i < TRIES_MAX; i++) {
                if (buffer_error(path) < 0)
                        return -ENOMEM;
                if (mkdirat(tree->fd, path->text + n_before, 0777) == 0)
                        return 0;
                if (errno != EEXIST)
                        return -errno;
                buffer_puts(path, "/" SWEEP_FILE_SETTINGS);
                if (buffer_error(path) < 0)
                        return -ENOMEM;
                if (faccessat(tree->fd, path->text + n_before, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
                        path->n -= strlen("/" SWEEP_FILE_SETTINGS);
                        path->text[path->n] = '\0';
                        return 0;
                }
                path->n = n_name;
                buffer_printf(path, "__%d", i);
        }
        return -EEXIST;
}

int sweep_tree_write(const char *path, const char *file, const char *text, bool durable) {
        char full[PATH_MAX];

        if (snprintf(full, sizeof(full), "%s/%s", path, file) >= (int)sizeof(full))
                return -ENAMETOOLONG;
        return file_replace(full, text, strlen(text), 0666, durable);
}

int sweep_tree_end(const char *path, int exit_code) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d\n", exit_code);
        return sweep_tree_write(path, SWEEP_FILE_EXIT_CODE, text, true);
}

int sweep_tree_begin(const SweepTree *tree, const SweepPlan *plan, const SweepPoint *point, size_t number,
                     const SweepRecord *record, char **ret_path) {
        scoped(buffer_deinit) Buffer path = {}, file = {}, text = {};
        Member all[SWEEP_SETTINGS_MAX];
        const Value settings = sweep_plan_settings(plan, point, all);
        int r = 0;

        buffer_printf(&path, "%s/", tree->path);
        if (record)
                buffer_puts(&path, record->directory);
        else
                r = make_directory(tree, plan, point, number, &path);
        if (r < 0)
                return r;

        for (size_t i = 0; i < settings.n_members; i++)
                sweep_text_put_yaml(&text, settings.members[i].key, &settings.members[i].value);
        buffer_printf(&file, "%s/" SWEEP_FILE_EXIT_CODE, path.text);
        if (buffer_error(&path) < 0 || buffer_error(&file) < 0 || buffer_error(&text) < 0)
                return -ENOMEM;
        if (unlink(file.text) < 0 && errno != ENOENT)
                return -errno;
        r = sweep_tree_write(path.text, SWEEP_FILE_SETTINGS, text.text, false);
        if (r < 0)
                return r;

        *ret_path = buffer_take(&path);
        return *ret_path ? 0 : -ENOMEM;
}
