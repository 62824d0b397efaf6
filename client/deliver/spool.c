/* SPDX-License-Identifier: Apache-2.0 */
#include "client/deliver/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "client/wire/id.h"
#include "util/error_text.h"
#include "util/file.h"
#include "value/value_parse.h"

#define SUFFIX ".jsonl"

/* --- directory ------------------------------------------------------------------------------------ */

int spool_find_directory(const char *given, char ret[static PATH_MAX]) {
        char host[HOST_NAME_MAX + 1] = "localhost", below[sizeof(host) + 16];

        if (!given || !*given)
                given = getenv("PERFD_SPOOL");
        if (!(given && *given) && geteuid() == 0)
                given = "/var/spool/perfd";
        if (given && *given)
                return snprintf(ret, PATH_MAX, "%s", given) < PATH_MAX ? 0 : -ENAMETOOLONG;

        (void)gethostname(host, sizeof(host) - 1);
        (void)snprintf(below, sizeof(below), "perfd/spool/%s", host);
        return file_find_env("XDG_STATE_HOME", ".local/state", below, ret);
}

/* --- format --------------------------------------------------------------------------------------- */

/* Writes how the result was measured, and for a failed run the name of its indicator. */
static void format_how(const Submission *item, Json *json) {
        char batch[RESULT_ID_TEXT_MAX];

        if (item->has_exit_status)
                json_put_int(json, "exit_status", item->exit_status);
        if (item->has_batch) {
                id_format_result(item->batch, batch);
                json_put_string(json, "batch", batch);
                json_put_uint(json, "index", item->batch_index);
        }
        if (submission_has_failed(item)) {
                json_put_string(json, "name", item->indicator.name);
                json_put_string(json, "component", item->indicator.component);
                json_put_string(json, "version", item->indicator.version);
        }
        if (item->run)
                value_put_json(item->run, "run", json);
}

static void format_item(const Submission *item, Json *json) {
        char id[RESULT_ID_TEXT_MAX];

        id_format_result(item->id, id);
        json_object_begin(json);
        json_put_string(json, "kind", "indicator");
        json_put_string(json, "id", id);
        json_put_string(json, "job", item->job);
        json_put_uint(json, "time_ms", item->time_ms);
        format_how(item, json);
        if (item->indicator.document)
                value_put_json(item->indicator.document, "document", json);
        json_object_end(json);
}

static void format_end(const char *job, const JobEnd *end, Json *json) {
        json_object_begin(json);
        json_put_string(json, "kind", "job_end");
        json_put_string(json, "job", job);
        if (end->has_exit_status)
                json_put_int(json, "exit_status", end->exit_status);
        json_put_int(json, "signal", end->signal);
        if (end->realtime_ms > 0)
                json_put_uint(json, "time_ms", end->realtime_ms);
        if (end->has_rusage) {
                json_key(json, "rusage");
                job_rusage_write_json(&end->rusage, json);
                json_put_bool(json, "rusage_partial", end->is_rusage_partial);
        }
        json_put_uint(json, "client_cpu_user_us", end->client_cpu.user_us);
        json_put_uint(json, "client_cpu_system_us", end->client_cpu.system_us);
        json_object_end(json);
}

int spool_format_batch(const Batch *batch, Buffer *out) {
        Json json;

        for (size_t i = 0; i < batch->n_items; i++) {
                json = (Json){ .out = out };
                format_item(&batch->items[i], &json);
                buffer_putc(out, '\n');
        }

        if (batch->ended_job) {
                json = (Json){ .out = out };
                format_end(batch->ended_job, &batch->end, &json);
                buffer_putc(out, '\n');
        }

        return buffer_error(out);
}

static int parse_how(const Value *line, Submission *item) {
        const char *batch = value_get_string(line, "batch");
        int64_t v;

        item->has_exit_status = value_get_int(line, "exit_status", &v);
        if (item->has_exit_status && (v < 0 || v > 255))
                return SPOOL_MALFORMED;
        item->exit_status = item->has_exit_status ? (int32_t)v : 0;

        item->has_batch = batch;
        if (batch &&
            (!id_parse_result(batch, item->batch) || !value_get_int(line, "index", &v) || v < 0 || v > UINT32_MAX))
                return SPOOL_MALFORMED;
        item->batch_index = batch ? (uint32_t)v : 0;

        item->run = value_get(line, "run");
        return item->run && item->run->type != VALUE_OBJECT ? SPOOL_MALFORMED : 0;
}

static int parse_indicator(const Value *line, Submission *item) {
        const Value *document = value_get(line, "document");
        const IndicatorGiven given = {
                .name = value_get_string(line, "name"),
                .component = value_get_string(line, "component"),
                .version = value_get_string(line, "version"),
        };
        Complaint complaint;
        int r;

        if (submission_has_failed(item))
                r = indicator_from_failed_run(document, &given, DOCUMENT_LIMITS_NONE, &item->indicator, &complaint);
        else
                r = document ? indicator_from_value(document, DOCUMENT_LIMITS_NONE, &item->indicator, &complaint)
                             : SPOOL_MALFORMED;
        return r == 0 ? 0 : SPOOL_MALFORMED;
}

static int parse_item(const Value *line, Submission *ret) {
        const char *id = value_get_string(line, "id"), *job = value_get_string(line, "job");
        Submission item = { .job = job };
        int64_t time_ms;

        if (!id || !job || !id_parse_result(id, item.id) || !value_get_int(line, "time_ms", &time_ms) || time_ms < 0)
                return SPOOL_MALFORMED;
        if (parse_how(line, &item) != 0 || parse_indicator(line, &item) != 0)
                return SPOOL_MALFORMED;

        item.time_ms = (uint64_t)time_ms;
        *ret = item;
        return 0;
}

static bool parse_rusage(const Value *from, JobRusage *ret) {
        JobRusage rusage = {};

        if (!value_get_double(from, "ru_utime", &rusage.ru_utime) ||
            !value_get_double(from, "ru_stime", &rusage.ru_stime))
                return false;
#define X(field)                                                    \
        if (!value_get_int(from, "ru_" #field, &rusage.ru_##field)) \
                return false;
        RUSAGE_COUNTS(X)
#undef X

        *ret = rusage;
        return true;
}

static int parse_end(const Value *line, Batch *ret) {
        const Value *partial;
        JobEnd end = {};
        int64_t v;

        if (ret->ended_job || !value_get_string(line, "job") || !value_get_int(line, "signal", &v) || v < 0 || v > 127)
                return SPOOL_MALFORMED;
        end.signal = (int32_t)v;

        end.has_exit_status = value_get_int(line, "exit_status", &v);
        if (end.has_exit_status && (v < 0 || v > 255))
                return SPOOL_MALFORMED;
        end.exit_status = end.has_exit_status ? (int32_t)v : 0;
        if (value_get_int(line, "time_ms", &v) && v > 0)
                end.realtime_ms = (uint64_t)v;
        end.has_rusage = parse_rusage(value_get(line, "rusage"), &end.rusage);
        partial = value_get(line, "rusage_partial");
        end.is_rusage_partial = partial && partial->type == VALUE_BOOL && partial->boolean;
        if (value_get_int(line, "client_cpu_user_us", &v) && v >= 0)
                end.client_cpu.user_us = (uint64_t)v;
        if (value_get_int(line, "client_cpu_system_us", &v) && v >= 0)
                end.client_cpu.system_us = (uint64_t)v;

        ret->ended_job = value_get_string(line, "job");
        ret->end = end;
        return 0;
}

static int parse_line(const Value *line, Submission *items, Batch *batch) {
        const char *kind = value_get_string(line, "kind");
        int r;

        if (kind && strcmp(kind, "job_end") == 0)
                return parse_end(line, batch);
        if (!kind || strcmp(kind, "indicator") != 0)
                return SPOOL_MALFORMED;

        r = parse_item(line, &items[batch->n_items]);
        if (r == 0)
                batch->n_items++;
        return r;
}

static size_t count_lines(const char *text, size_t n) {
        size_t n_lines = 0;

        for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))); p++)
                n_lines++;
        return n_lines;
}

#define LINE_BYTES_MIN 40U /* {"kind":"job_end","job":"…","signal":0} */

size_t spool_batch_arena_size(size_t n) {
        return value_parse_arena_size(n) + n / LINE_BYTES_MIN * sizeof(Submission);
}

int spool_parse_batch(const char *text, size_t n, Arena *arena, Batch *ret) {
        size_t n_lines = count_lines(text, n);
        ValueReader reader;
        Submission *items;
        Batch batch = {};
        ValueError error;
        const Value *line;
        int r;

        if (n_lines == 0 || n_lines > n / LINE_BYTES_MIN)
                return SPOOL_MALFORMED;

        items = arena_alloc(arena, n_lines * sizeof(*items));
        if (!items)
                return -ENOMEM;

        value_parse_begin(&reader, text, n);
        for (size_t i = 0; i < n_lines; i++) {
                r = value_parse_next(&reader, arena, &line, &error);
                if (r != 0)
                        return r < 0 ? r : SPOOL_MALFORMED;
                r = parse_line(line, items, &batch);
                if (r != 0)
                        return r;
        }

        if (reader.at + 1 != n)
                return SPOOL_MALFORMED;

        batch.items = items;
        *ret = batch;
        return 0;
}

/* --- files ---------------------------------------------------------------------------------------- */

static int is_spooled(const struct dirent *entry) {
        size_t n = strlen(entry->d_name), n_suffix = strlen(SUFFIX);

        return n > n_suffix && n < SPOOL_NAME_MAX && entry->d_name[0] != '.' &&
               strcmp(entry->d_name + n - n_suffix, SUFFIX) == 0;
}

int spool_list(const char *directory, struct dirent ***ret_entries, size_t *ret_n) {
        int n = scandir(directory, ret_entries, is_spooled, alphasort);

        if (n < 0 && errno != ENOENT)
                return -errno;
        if (n < 0)
                *ret_entries = NULL;
        *ret_n = n > 0 ? (size_t)n : 0;
        return 0;
}

void spool_entries_free(struct dirent **entries, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(entries[i]);
        free(entries);
}

static int check_room(const char *directory) {
        struct dirent **entries;
        size_t n = 0;
        int r;

        r = spool_list(directory, &entries, &n);
        if (r < 0)
                return r;

        spool_entries_free(entries, n);
        return n >= SPOOL_FILES_MAX ? -ENOSPC : 0;
}

int spool_put(const char *directory, const Batch *batch, uint64_t realtime_ms, char ret_name[static SPOOL_NAME_MAX]) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(freep) char *path = NULL;
        uint8_t id[RESULT_ID_BYTES];
        int r;

        r = id_make_result(realtime_ms, id);
        if (r == 0)
                r = spool_format_batch(batch, &text);
        if (r == 0)
                r = file_make_dirs(directory, 0700);
        if (r == 0)
                r = check_room(directory);
        if (r < 0)
                return r;
        if (text.n > SPOOL_FILE_BYTES_MAX)
                return -EFBIG;

        snprintf(ret_name, SPOOL_NAME_MAX, "%015ju-%02x%02x%02x%02x" SUFFIX, (uintmax_t)realtime_ms, id[12], id[13],
                 id[14], id[15]);
        if (asprintf(&path, "%s/%s", directory, ret_name) < 0)
                return -ENOMEM;

        return file_replace(path, text.text, text.n, 0600, true);
}

static int odd(SpoolFile *ret, const char *reason) {
        *ret = (SpoolFile){ .fd = -1 };
        (void)snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
        return SPOOL_ODD;
}

/* Reads the file, of which another process may hold the lock. */
static int read_locked(int fd, SpoolFile *file) {
        struct stat st;

        /* The file may have been removed by the previous holder of the lock. */
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? SPOOL_GONE : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_nlink == 0)
                return SPOOL_GONE;
        if (st.st_size > (off_t)SPOOL_FILE_BYTES_MAX)
                return -EFBIG;

        file->text = malloc((size_t)st.st_size + 1);
        if (!file->text)
                return -ENOMEM;
        while (file->n < (size_t)st.st_size) {
                ssize_t n = read(fd, file->text + file->n, (size_t)st.st_size - file->n);

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                file->n += (size_t)n;
        }
        file->text[file->n] = '\0';
        return 0;
}

int spool_open(const char *directory, const char *name, SpoolFile *ret) {
        scoped(closep) int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scoped(spool_close) SpoolFile file = { .fd = -1 };
        struct stat st;
        int r;

        if (dir_fd < 0)
                return -errno;

        file.fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file.fd < 0)
                return errno == ENOENT ? SPOOL_GONE
                                       : odd(ret, errno == ELOOP ? "a symbolic link" : error_text(errno));
        if (fstat(file.fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return odd(ret, "not a regular file");
        if (st.st_uid != geteuid()) {
                (void)snprintf(file.reason, sizeof(file.reason), "belongs to uid %u: run perfctl flush as this user",
                               (unsigned)st.st_uid);
                return odd(ret, file.reason);
        }

        r = read_locked(file.fd, &file);
        if (r < 0 && r != -ENOMEM)
                return odd(ret, error_text(-r));
        if (r != 0)
                return r;

        *ret = file;
        file = (SpoolFile){ .fd = -1 };
        return 0;
}

void spool_close(SpoolFile *file) {
        closep(&file->fd);
        free(file->text);
        *file = (SpoolFile){ .fd = -1 };
}

int spool_replace(const char *directory, const char *name, const Batch *batch) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(freep) char *path = NULL;
        int r;

        r = spool_format_batch(batch, &text);
        if (r < 0)
                return r;
        if (asprintf(&path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        return file_replace(path, text.text, text.n, 0600, true);
}

int spool_remove(const char *directory, const char *name) {
        scoped(freep) char *path = NULL;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                return -ENOMEM;

        return unlink(path) < 0 ? -errno : 0;
}

int spool_reject(const char *directory, const char *name, const char *reason) {
        scoped(freep) char *from = NULL, *rejected = NULL, *to = NULL, *why = NULL, *text = NULL;
        int r;

        if (asprintf(&from, "%s/%s", directory, name) < 0 || asprintf(&rejected, "%s/rejected", directory) < 0 ||
            asprintf(&to, "%s/%s", rejected, name) < 0 || asprintf(&why, "%s.reason", to) < 0 ||
            asprintf(&text, "%s\n", reason) < 0)
                return -ENOMEM;

        r = file_make_dirs(rejected, 0700);
        if (r == 0)
                r = file_replace(why, text, strlen(text), 0600, false);
        if (r < 0)
                return r;

        return rename(from, to) < 0 ? -errno : 0;
}
