/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/test_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "client/sweep/sweep_tree.h"
#include "client/wire/id.h"
#include "json/json_text.h"
#include "text/encoding.h"
#include "text/yaml.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/sha256.h"

#define SETTINGS_BYTES_MAX (4U * 1024U * 1024U)
#define LEVEL_FILES_MAX 16U /* settings.* in one directory */
#define SETTINGS_MAX 1024U  /* of a test */
#define DEPTH_MAX 64U
#define SMALL_BYTES_MAX 64U

/* The settings of a directory; those above it are in `up`. */
typedef struct SettingsLevel {
        const struct SettingsLevel *up;
        Arena arenas[LEVEL_FILES_MAX];
        const Value *files[LEVEL_FILES_MAX];
        size_t n;
        bool is_broken; /* a file cannot be read, here or above */
} SettingsLevel;

static void level_deinit(SettingsLevel *level) {
        for (size_t i = 0; i < level->n; i++)
                arena_deinit(&level->arenas[i]);
}

/* The names in a directory, sorted. */
typedef struct NameList {
        struct dirent **items;
        int n;
} NameList;

static void names_deinit(NameList *names) {
        for (int i = 0; i < names->n; i++)
                free(names->items[i]);
        free(names->items);
}

void test_tree_deinit(TestTree *tree) {
        for (size_t i = 0; i < tree->n; i++) {
                free(tree->records[i].path);
                free(tree->records[i].settings);
                free(tree->records[i].key);
                findings_deinit(&tree->records[i].findings);
        }
        free(tree->records);
        free(tree->root);
        findings_deinit(&tree->findings);
}

/* --- files ---------------------------------------------------------------------------------------- */

/* The place of an open file, which no link can change any more. */
static bool is_within(const TestTree *tree, int fd) {
        char name[64], place[PATH_MAX];
        size_t n = strlen(tree->root);
        ssize_t k;

        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        k = readlink(name, place, sizeof(place) - 1);
        if (k < 0)
                return false;
        place[k] = '\0';
        return strcmp(tree->root, "/") == 0 ||
               (strncmp(place, tree->root, n) == 0 && (place[n] == '/' || place[n] == '\0'));
}

int test_tree_open(const TestTree *tree, const char *path, int *ret_fd, struct stat *ret_stat) {
        char full[PATH_MAX];
        scoped(closep) int fd = -1;

        if (snprintf(full, sizeof(full), "%s/%s", tree->root, path) >= (int)sizeof(full))
                return -ENAMETOOLONG;
        /* the opening of a pipe without a writer must not wait */
        fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;
        if (!is_within(tree, fd))
                return TEST_TREE_OUTSIDE;
        if (fstat(fd, ret_stat) < 0)
                return -errno;
        if (!S_ISREG(ret_stat->st_mode))
                return TEST_TREE_NO_FILE;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

const char *test_tree_why(int outcome) {
        return outcome == TEST_TREE_OUTSIDE   ? "a link leads out of the directory of results"
               : outcome == TEST_TREE_NO_FILE ? "is no regular file"
                                              : error_text(-outcome);
}

static uint64_t mtime_ns(const struct stat *st) {
        return (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static int read_file(const TestTree *tree, const char *path, size_t n_max, Buffer *ret, uint64_t *ret_mtime_ns) {
        scoped(closep) int fd = -1;
        struct stat st;
        ssize_t k;
        int r;

        r = test_tree_open(tree, path, &fd, &st);
        if (r != 0)
                return r;
        *ret_mtime_ns = mtime_ns(&st);
        ret->n_max = n_max;
        do
                k = buffer_read(ret, fd);
        while (k > 0 || k == -EINTR);
        return (int)k;
}

static void put_path(Buffer *out, const char *directory, const char *name) {
        if (strcmp(directory, ".") != 0)
                buffer_printf(out, "%s/", directory);
        buffer_puts(out, name);
}

/* --- settings ------------------------------------------------------------------------------------- */

static bool is_root_name(const char *name) {
        return strcmp(name, "settings") == 0 || strcmp(name, "settings.yaml") == 0 || strcmp(name, "settings.yml") == 0;
}

static bool is_settings_name(const char *name) {
        size_t n = strlen(name);

        return is_root_name(name) || (strncmp(name, "settings.", 9) == 0 && n > 9 && name[n - 1] != '~');
}

static bool is_yaml_name(const char *name) {
        const char *extension = strrchr(name, '.');

        return extension && (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0);
}

/* Reads lines KEY=VALUE, whose values are texts. */
static int read_lines(char *text, const char *path, Arena *arena, const Value **ret, Findings *findings) {
        Value *object = arena_alloc(arena, sizeof(*object));
        ObjectBuilder members;
        unsigned line = 0;

        object_builder_init(&members, arena, SETTINGS_MAX);
        for (char *rest = text, *begin; (begin = strsep(&rest, "\n"));) {
                char *equals = strchr(begin, '=');

                line++;
                if (begin[strspn(begin, " \t")] == '\0' || *begin == '#')
                        continue;
                if (!equals || equals == begin) {
                        findings_error(findings, "%s:%u: is no KEY=VALUE; the line is left out", path, line);
                        continue;
                }
                *equals = '\0';
                object_builder_put(&members, arena_strndup(arena, begin, (size_t)(equals - begin)) ?: "",
                                   &(Value){ .type = VALUE_STRING,
                                             .string = arena_strndup(arena, equals + 1, strlen(equals + 1)) ?: "" });
        }
        *ret = object;
        return object ? object_builder_end(&members, object) : -ENOMEM;
}

static int parse_settings(Buffer *text, const char *path, Arena *arena, const Value **ret, Findings *findings) {
        YamlError error;
        int r;

        if (text->n > 0 && encoding_unify(text->text, &text->n) == ENCODING_FOREIGN) {
                findings_error(findings, "%s:1: " ENCODING_FOREIGN_TEXT, path);
                return YAML_MALFORMED;
        }
        r = arena_init(arena, yaml_arena_size(text->n) + SETTINGS_MAX * sizeof(Member) + 4096);
        if (r == 0)
                r = is_yaml_name(path) ? yaml_read(text->text ?: "", text->n, arena, ret, &error)
                                       : read_lines(text->text ?: (char[]){ "" }, path, arena, ret, findings);
        if (r == YAML_MALFORMED)
                findings_error(findings, "%s:%u:%u: %s", path, error.line, error.column, error.text);
        else if (r == 0 && (*ret)->type != VALUE_OBJECT) {
                findings_error(findings, "%s:1: is %s; expected settings, as in 'threads: 4'", path,
                               value_type_text(*ret));
                return YAML_MALFORMED;
        }
        return r;
}

/* Reads one file of settings. *ret_mtime_ns: the time of the file that is read last. */
static int read_settings(TestTree *tree, const char *directory, const char *name, SettingsLevel *level,
                         uint64_t *ret_mtime_ns) {
        scoped(buffer_deinit) Buffer path = {}, text = {};
        int r;

        put_path(&path, directory, name);
        if (buffer_error(&path) < 0)
                return -ENOMEM;
        if (level->n == LEVEL_FILES_MAX) {
                findings_error(&tree->findings, "%s: a directory may have %u files of settings", path.text,
                               LEVEL_FILES_MAX);
                return 0;
        }
        r = read_file(tree, path.text, SETTINGS_BYTES_MAX, &text, ret_mtime_ns);
        if (r != 0) {
                findings_error(&tree->findings, "%s: %s", path.text, test_tree_why(r));
                level->is_broken = true;
                return 0;
        }
        level->arenas[level->n] = (Arena){};
        r = parse_settings(&text, path.text, &level->arenas[level->n], &level->files[level->n], &tree->findings);
        if (r != 0) {
                arena_deinit(&level->arenas[level->n]);
                level->is_broken = true;
        } else
                level->n++;
        return r < 0 ? r : 0;
}

/* Collects the members of all levels, those at the top first. Returns their number. */
static size_t merge(const SettingsLevel *level, Member merged[static SETTINGS_MAX]) {
        size_t n = level->up ? merge(level->up, merged) : 0;

        for (size_t i = 0; i < level->n; i++)
                for (size_t k = 0; k < level->files[i]->n_members; k++) {
                        const Member *member = &level->files[i]->members[k];
                        size_t at = 0;

                        while (at < n && strcmp(merged[at].key, member->key) != 0)
                                at++;
                        if (at < SETTINGS_MAX)
                                merged[at] = *member;
                        n += at == n && n < SETTINGS_MAX;
                }
        return n;
}

static bool is_broken(const SettingsLevel *level) {
        return level && (level->is_broken || is_broken(level->up));
}

/* --- tests ---------------------------------------------------------------------------------------- */

/* without_repeats: leaves out the settings that begin with @. Equal settings have equal texts. Caller frees. */
static char *write_settings(const Member *merged, size_t n, bool without_repeats) {
        scoped(buffer_deinit) Buffer text = {}, sorted = {};
        Json json = { .out = &text };

        json_object_begin(&json);
        for (size_t i = 0; i < n; i++)
                if (!without_repeats || *merged[i].key != '@')
                        value_put_json(&merged[i].value, merged[i].key, &json);
        json_object_end(&json);
        if (buffer_error(&text) < 0 || json_text_put_sorted(json_text(text.text, text.n), &sorted) < 0)
                return NULL;
        return buffer_take(&sorted);
}

static int take_settings(TestRecord *record, const SettingsLevel *level) {
        scoped(freep) Member *merged = calloc(SETTINGS_MAX, sizeof(*merged));
        size_t n;

        if (!merged)
                return -ENOMEM;
        n = merge(level, merged);
        record->settings = write_settings(merged, n, false);
        record->key = write_settings(merged, n, true);
        return record->settings && record->key ? 0 : -ENOMEM;
}

void test_tree_format_uuid(const uint8_t id[static RESULT_ID_BYTES], char ret[static TEST_UUID_TEXT_MAX]) {
        char digits[RESULT_ID_TEXT_MAX];

        id_format_result(id, digits);
        (void)snprintf(ret, TEST_UUID_TEXT_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12,
                       digits + 16, digits + 20);
}

/* A version 4 UUID, the only one that MatrixBenchmarking takes. A copied tree has the same ids if it keeps the times
 * of the files. */
static int derive_id(TestRecord *record) {
        scoped(buffer_deinit) Buffer text = {};
        uint8_t digest[SHA256_BYTES];

        buffer_printf(&text, "perfd test\n%s\n%" PRIu64 "\n%s", record->path, record->start_ns / NS_PER_MS,
                      record->settings);
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        sha256_of(text.text, text.n, digest);
        memcpy(record->id, digest, sizeof(record->id));
        record->id[6] = (uint8_t)(0x40 | (record->id[6] & 0x0f));
        record->id[8] = (uint8_t)(0x80 | (record->id[8] & 0x3f));
        return 0;
}

static bool parse_uuid(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        char digits[RESULT_ID_TEXT_MAX];
        size_t n = 0;

        for (text += strspn(text, " \t\r\n"); *text && n + 1 < sizeof(digits); text++)
                if (*text >= 'A' && *text <= 'F')
                        digits[n++] = (char)(*text | 0x20);
                else if (*text != '-')
                        digits[n++] = *text;
        digits[n] = '\0';
        n = strcspn(digits, " \t\r\n");
        text += strspn(text, " \t\r\n");
        digits[n] = '\0';
        return *text == '\0' && id_parse_result(digits, ret);
}

static int take_id(const TestTree *tree, TestRecord *record) {
        scoped(buffer_deinit) Buffer path = {}, text = {};
        uint64_t unused;
        int r;

        put_path(&path, record->path, ".uuid");
        if (buffer_error(&path) < 0)
                return -ENOMEM;
        r = read_file(tree, path.text, SMALL_BYTES_MAX, &text, &unused);
        if (r == 0 && parse_uuid(text.text ?: "", record->id))
                return 0;
        if (r != -ENOENT)
                findings_warn(&record->findings, "%s: %s; the id is made of path, settings and start", path.text,
                              r == 0 ? "is no UUID" : test_tree_why(r));
        return derive_id(record);
}

/* Finds out whether the test has ended. */
static int take_exit_code(const TestTree *tree, TestRecord *record) {
        scoped(buffer_deinit) Buffer path = {}, text = {};
        int r;

        put_path(&path, record->path, "exit_code");
        if (buffer_error(&path) < 0)
                return -ENOMEM;
        r = read_file(tree, path.text, SMALL_BYTES_MAX, &text, &record->end_ns);
        if (r != 0) {
                record->left_out = r == -ENOENT ? "has no exit_code: not finished" : "exit_code cannot be read";
                if (r != -ENOENT)
                        findings_error(&record->findings, "%s: %s", path.text, test_tree_why(r));
                return 0;
        }
        if (!text.text || text.text[strspn(text.text, " \t\r\n")] == '\0')
                record->left_out = "exit_code is empty: still running";
        else if (!sweep_tree_parse_exit_code(text.text, &record->exit_code)) {
                record->left_out = "exit_code is no number";
                findings_error(&record->findings, "%s:1: '%.20s' is no whole number", path.text, text.text);
        }
        return 0;
}

static int add_test(TestTree *tree, const char *directory, const SettingsLevel *level, uint64_t start_ns,
                    bool is_skipped) {
        TestRecord *record;
        int r;

        if (ARRAY_RESERVE(tree->records, tree->n_allocated, tree->n + 1) < 0)
                return -ENOMEM;
        record = &tree->records[tree->n++];
        *record = (TestRecord){ .start_ns = start_ns, .path = strdup(directory) };
        if (!record->path)
                return -ENOMEM;
        if (is_skipped)
                record->left_out = "has a file skip";
        else if (is_broken(level))
                record->left_out = "its settings cannot be read";
        r = record->left_out ? 0 : take_exit_code(tree, record);
        if (r == 0 && !record->left_out)
                r = take_settings(record, level);
        return r == 0 && !record->left_out ? take_id(tree, record) : r;
}

/* --- directories ---------------------------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b) {
        return strcmp((*a)->d_name, (*b)->d_name);
}

static int list(TestTree *tree, const char *directory, NameList *ret) {
        char full[PATH_MAX];
        int n;

        if (snprintf(full, sizeof(full), "%s/%s", tree->root, directory) >= (int)sizeof(full))
                return -ENAMETOOLONG;
        n = scandir(full, &ret->items, NULL, by_name);
        if (n < 0)
                return -errno;
        ret->n = n;
        return 0;
}

/* Names a link to a directory outside, since its tests are missing. */
static void check_link(TestTree *tree, const char *path) {
        char full[PATH_MAX];
        scoped(closep) int fd = -1;

        if (snprintf(full, sizeof(full), "%s/%s", tree->root, path) >= (int)sizeof(full))
                return;
        fd = open(full, O_PATH | O_CLOEXEC | O_DIRECTORY);
        if (fd >= 0 && !is_within(tree, fd))
                findings_warn(&tree->findings, "%s: a link leads out of the directory of results: not followed", path);
}

static int read_directory(TestTree *tree, const char *directory, const SettingsLevel *up, unsigned depth);

static int enter(TestTree *tree, const char *directory, const struct dirent *entry, const SettingsLevel *level,
                 unsigned depth) {
        scoped(buffer_deinit) Buffer path = {}, full = {};
        struct stat st;

        put_path(&path, directory, entry->d_name);
        buffer_printf(&full, "%s/%s", tree->root, path.text ?: "");
        if (buffer_error(&path) < 0 || buffer_error(&full) < 0)
                return -ENOMEM;
        if (entry->d_type == DT_REG || lstat(full.text, &st) < 0)
                return 0;
        if (S_ISLNK(st.st_mode))
                check_link(tree, path.text);
        return S_ISDIR(st.st_mode) ? read_directory(tree, path.text, level, depth) : 0;
}

/* Reads a directory, which is a test or has tests below it. */
static int read_directory(TestTree *tree, const char *directory, const SettingsLevel *up, unsigned depth) {
        scoped(level_deinit) SettingsLevel level = { .up = up };
        scoped(names_deinit) NameList names = {};
        bool is_root = false, is_skipped = false;
        uint64_t start_ns = 0, unused;
        int r;

        r = depth < DEPTH_MAX ? list(tree, directory, &names) : -ELOOP;
        if (r < 0 && depth > 0 && r != -ENOMEM) {
                findings_error(&tree->findings, "%s: %s", directory, error_text(-r));
                return 0;
        }
        for (int i = 0; i < names.n && r == 0; i++) {
                const char *name = names.items[i]->d_name;

                is_root |= is_root_name(name);
                is_skipped |= strcmp(name, "skip") == 0;
                if (is_settings_name(name))
                        r = read_settings(tree, directory, name, &level, is_root_name(name) ? &start_ns : &unused);
        }
        if (r == 0 && is_root)
                return add_test(tree, directory, &level, start_ns, is_skipped);
        for (int i = 0; i < names.n && r == 0; i++)
                if (names.items[i]->d_name[0] != '.' && tree->n < TEST_TREE_TESTS_MAX)
                        r = enter(tree, directory, names.items[i], &level, depth + 1);
        return r;
}

/* --- duplicates ----------------------------------------------------------------------------------- */

static int by_settings(const TestRecord *a, const TestRecord *b) {
        return strcmp(a->settings ?: "", b->settings ?: "");
}

static int by_id(const TestRecord *a, const TestRecord *b) {
        return memcmp(a->id, b->id, sizeof(a->id));
}

static int compare_settings(const void *a, const void *b) {
        const TestRecord *x = *(const TestRecord *const *)a, *y = *(const TestRecord *const *)b;

        return by_settings(x, y) ?: COMPARE(x, y);
}

static int compare_ids(const void *a, const void *b) {
        const TestRecord *x = *(const TestRecord *const *)a, *y = *(const TestRecord *const *)b;

        return by_id(x, y) ?: COMPARE(x, y);
}

/* Leaves out tests that equal an earlier one. sorted: equal ones are neighbours. */
static void leave_out(TestRecord **sorted, size_t n, int (*compare)(const TestRecord *, const TestRecord *),
                      const char *why, const char *fix) {
        const TestRecord *first = NULL;

        for (size_t i = 0; i < n; i++) {
                if (sorted[i]->left_out)
                        continue;
                if (first && compare(first, sorted[i]) == 0) {
                        sorted[i]->left_out = why;
                        findings_warn(&sorted[i]->findings, "%s: %s, %s, and is left out; %s", sorted[i]->path, why,
                                      first->path, fix);
                } else
                        first = sorted[i];
        }
}

static int find_duplicates(TestTree *tree) {
        scoped(freep) TestRecord **sorted = calloc(tree->n + 1, sizeof(TestRecord *));

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < tree->n; i++)
                sorted[i] = &tree->records[i];
        qsort(sorted, tree->n, sizeof(TestRecord *), compare_settings);
        leave_out(sorted, tree->n, by_settings, "has the settings of an earlier test",
                  "a setting that begins with @, such as '@repeat', tells repetitions apart");
        qsort(sorted, tree->n, sizeof(TestRecord *), compare_ids);
        leave_out(sorted, tree->n, by_id, "has the id of an earlier test", "a copied .uuid is to be removed");
        return 0;
}

int test_tree_read(TestTree *ret, const char *directory) {
        char real[PATH_MAX];
        struct stat st;
        int r;

        *ret = (TestTree){};
        if (!realpath(directory, real) || stat(real, &st) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return -ENOTDIR;
        ret->root = strdup(real);
        if (!ret->root)
                return -ENOMEM;
        r = read_directory(ret, ".", NULL, 0);
        if (r == 0 && ret->n == TEST_TREE_TESTS_MAX)
                findings_error(&ret->findings, "%s: has more than %u tests; the others are left out", directory,
                               TEST_TREE_TESTS_MAX);
        return r == 0 ? find_duplicates(ret) : r;
}
