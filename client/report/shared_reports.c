/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/shared_reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/api/answer.h"
#include "client/cli/input.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scoped.h"
#include "value/value_parse.h"

#define ENDING ".json"
#define STATE_DIRECTORY "state"
#define REPORT_BYTES_MAX (8 << 20)
#define DIGITS "0123456789"

const char *shared_reports_directory(void) {
        const char *directory = getenv("PERFD_REPORTS");

        return directory && *directory ? directory : NULL;
}

/* --- files that can be trusted ---------------------------------------------------------------------- */

/* Opens a directory of a user. Returns -1 if there is none, or it belongs to another. */
static int open_directory(int fd, const char *name, uid_t uid) {
        scoped(closep) int opened = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;

        return opened >= 0 && fstat(opened, &status) == 0 && status.st_uid == uid ? TAKE_FD(opened) : -1;
}

/* Reads a file of a user. False if it cannot be read, or belongs to another. */
static bool read_file(int fd, const char *name, uid_t uid, Buffer *ret) {
        scoped(closep) int opened = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat status;

        return opened >= 0 && fstat(opened, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == uid &&
               status.st_size <= REPORT_BYTES_MAX && input_read_fd(opened, ret) == 0 && ret->n > 0;
}

/* Reads the final state of a job, a JSON object. The directory of states belongs to the owner of all. */
static bool read_state(int directory_fd, const char *id, Buffer *ret) {
        scoped(arena_deinit) Arena arena = {};
        scoped(closep) int fd = -1;
        struct stat status;
        const Value *state;
        ValueError error;
        char name[NAME_MAX];

        if (fstat(directory_fd, &status) < 0)
                return false;
        fd = open_directory(directory_fd, STATE_DIRECTORY, status.st_uid);
        (void)snprintf(name, sizeof(name), "%.200s" ENDING, id);
        return fd >= 0 && read_file(fd, name, status.st_uid, ret) &&
               value_parse_only(ret->text, ret->n, &arena, &state, &error) == 0 && state->type == VALUE_OBJECT;
}

/* --- names ------------------------------------------------------------------------------------------- */

static size_t id_length(const char *name) {
        return strcspn(name, "@");
}

/* Returns the number after the separator: 1 for 4711.r1, a time for 4711.t1792000000, 0 for the first run. */
static uint64_t find_run(const char *id) {
        const char *rest = id + strspn(id, DIGITS);
        uint64_t run = 0;

        if (rest[0] == '.' && (rest[1] == 'r' || rest[1] == 't'))
                run = strtoull(rest + 2, NULL, 10);
        return run;
}

static bool has_name_of_report(const char *name) {
        size_t n = strlen(name), n_id = id_length(name);

        return n_id > 0 && n_id + 1 + strlen(ENDING) < n && name[0] != '.' &&
               strcmp(name + n - strlen(ENDING), ENDING) == 0;
}

/* Whether the name is one of the job: 4711 and 4711.r1 are both for 4711. */
static bool is_of_job(const char *name, const char *job) {
        size_t n = strlen(job), n_id = id_length(name);

        if (n_id < n || memcmp(name, job, n) != 0)
                return false;
        return n_id == n || (job[strspn(job, DIGITS)] == '\0' && name[n] == '.');
}

static int by_age(const void *a, const void *b) {
        const char *left = *(char *const *)a, *right = *(char *const *)b;
        uint64_t number_left = strtoull(left, NULL, 10), number_right = strtoull(right, NULL, 10);
        uint64_t run_left = find_run(left), run_right = find_run(right);

        return COMPARE(number_right, number_left) ?: COMPARE(run_right, run_left) ?: strcmp(left, right);
}

/* Drops the names of earlier runs of the job. */
static void keep_newest(SharedReports *reports) {
        size_t n = 0;

        while (n < reports->n && find_run(reports->names[n]) == find_run(reports->names[0]))
                n++;
        while (reports->n > n)
                free(reports->names[--reports->n]);
}

static int list_names(SharedReports *reports, const char *job) {
        scoped(closedirp) DIR *list = file_open_list(reports->user_fd, ".");
        int r;

        for (const struct dirent *entry; list && (entry = readdir(list));) {
                if (!has_name_of_report(entry->d_name) || (job && !is_of_job(entry->d_name, job)))
                        continue;
                r = ARRAY_EXTEND(reports->names, reports->n);
                if (r < 0)
                        return r;
                reports->names[reports->n] = strdup(entry->d_name);
                if (!reports->names[reports->n])
                        return -ENOMEM;
                reports->n++;
        }
        if (reports->n > 0)
                qsort(reports->names, reports->n, sizeof(*reports->names), by_age);
        return 0;
}

/* Finds the number of the job that Slurm calls 5000_7 or 5000+1: its state is also stored under this name. */
static bool find_number(int directory_fd, const char *name, char ret[static TEXT_MAX]) {
        scoped(buffer_deinit) Buffer text = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *state;
        ValueError error;

        if (!read_state(directory_fd, name, &text) ||
            value_parse_only(text.text, text.n, &arena, &state, &error) != 0)
                return false;
        (void)snprintf(ret, TEXT_MAX, "%.20s", answer_text(state, "slurm_job"));
        return ret[0] && ret[strspn(ret, DIGITS)] == '\0';
}

/* --- reading ----------------------------------------------------------------------------------------- */

int shared_reports_find(SharedReports *reports, const char *directory, uid_t uid, const char *job) {
        char name[TEXT_MAX], number[TEXT_MAX];
        int r;

        *reports = (SharedReports){ .user_fd = -1, .uid = uid };
        reports->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (reports->directory_fd < 0)
                return -errno;
        if (job && job[strspn(job, DIGITS)] && strchr("_+", job[strspn(job, DIGITS)]))
                job = find_number(reports->directory_fd, job, number) ? number : job;

        (void)snprintf(name, sizeof(name), "%u", uid);
        reports->user_fd = open_directory(reports->directory_fd, name, uid);
        if (reports->user_fd < 0)
                return 0;
        r = list_names(reports, job);
        if (r == 0 && job)
                keep_newest(reports);
        return r;
}

void shared_reports_deinit(SharedReports *reports) {
        closep(&reports->directory_fd);
        closep(&reports->user_fd);
        for (size_t i = 0; i < reports->n; i++)
                free(reports->names[i]);
        free(reports->names);
        *reports = SHARED_REPORTS_NONE;
}

/* Writes the name of a job's state: the number and the run of Slurm, 4711 or 4711.r1. */
static void format_state_id(const char *name, char ret[static TEXT_MAX]) {
        size_t n = strspn(name, DIGITS);

        if (strncmp(name + n, ".r", 2) == 0)
                n += 2 + strspn(name + n + 2, DIGITS);
        (void)snprintf(ret, TEXT_MAX, "%.*s", (int)n, name);
}

/* A user can write any report into the own directory: it must be about a job of that user, and the one that the name
 * of the file promises. */
static bool is_own_report(const SharedReports *reports, const char *name, const Buffer *report) {
        scoped(arena_deinit) Arena arena = {};
        const Value *value, *uid;
        ValueError error;
        const char *id;

        if (value_parse_only(report->text, report->n, &arena, &value, &error) != 0 || value->type != VALUE_OBJECT)
                return false;
        uid = value_get(value, "uid");
        id = answer_text(value, "id");
        return uid && uid->type == VALUE_INT && uid->integer == (int64_t)reports->uid &&
               strlen(id) == id_length(name) && strncmp(id, name, id_length(name)) == 0;
}

bool shared_reports_read(const SharedReports *reports, size_t i, Buffer *ret) {
        scoped(buffer_deinit) Buffer state = {};
        char id[TEXT_MAX], last = ' ';

        if (!read_file(reports->user_fd, reports->names[i], reports->uid, ret) ||
            !is_own_report(reports, reports->names[i], ret))
                return false;
        format_state_id(reports->names[i], id);
        if (!read_state(reports->directory_fd, id, &state))
                return true;

        while (ret->n > 0 && strchr(" \n", last))
                last = ret->text[--ret->n]; /* drops the brace at the end, which comes after the state */
        buffer_printf(ret, ",\"slurm\":%s}", state.text);
        return buffer_error(ret) == 0;
}

static bool can_read_all(const SharedReports *reports) {
        bool can = true;

        for (size_t i = 0; i < reports->n && can; i++) {
                scoped(buffer_deinit) Buffer unused = {};

                can = shared_reports_read(reports, i, &unused);
        }
        return can;
}

/* A file that is not a report of its user hides none of another. */
int shared_reports_find_any(SharedReports *reports, const char *directory, const char *job) {
        scoped(closedirp) DIR *list = NULL;
        uint64_t uid, unreadable = UINT64_MAX;
        int r;

        r = shared_reports_find(reports, directory, geteuid(), job);
        if (r == 0 && reports->n == 0)
                list = file_open_list(AT_FDCWD, directory);
        for (const struct dirent *entry; r == 0 && reports->n == 0 && list && (entry = readdir(list));) {
                if (parse_u64(entry->d_name, &uid) != 0 || uid >= UINT32_MAX)
                        continue;
                shared_reports_deinit(reports);
                r = shared_reports_find(reports, directory, (uid_t)uid, job);
                if (r == 0 && !can_read_all(reports)) {
                        shared_reports_deinit(reports);
                        unreadable = uid;
                }
        }
        if (r != 0 || reports->n > 0 || unreadable == UINT64_MAX)
                return r;
        shared_reports_deinit(reports);
        return shared_reports_find(reports, directory, (uid_t)unreadable, job);
}

size_t shared_reports_count_nodes(const SharedReports *reports, size_t i) {
        size_t n = 1, n_id = id_length(reports->names[i]);

        while (i + n < reports->n && id_length(reports->names[i + n]) == n_id &&
               memcmp(reports->names[i + n], reports->names[i], n_id) == 0)
                n++;
        return n;
}
