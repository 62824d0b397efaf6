/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/jobs/job_text.h"

static const char *text_at(sqlite3_stmt *statement, int i) {
        const char *text = (const char *)sqlite3_column_text(statement, i);

        return text ? text : "";
}

/* A value outside the range of the member reads as unknown. */
static uint32_t u32_at(sqlite3_stmt *statement, int i) {
        sqlite3_int64 v = sqlite3_column_int64(statement, i);

        return v < 0 || v > UINT32_MAX ? 0 : (uint32_t)v;
}

static int32_t node_at(sqlite3_stmt *statement, int i) {
        sqlite3_int64 v = sqlite3_column_int64(statement, i);

        return v < 0 || v > INT32_MAX ? -1 : (int32_t)v;
}

/* Everything was short enough when it was stored. */
#define COPY_TEXT(field, text) (void)snprintf((field), sizeof(field), "%s", (text))

static void read_end(sqlite3_stmt *statement, JobEnd *ret) {
        ret->has_exit_status = sqlite3_column_type(statement, 14) != SQLITE_NULL;
        ret->exit_status = sqlite3_column_int(statement, 14);
        ret->signal = sqlite3_column_int(statement, 15);
        ret->has_rusage = record_parse(&job_rusage_record, text_at(statement, 16), &ret->rusage) == 0;
}

/* Reads the isolation of the job's processes and the job's place in a run. */
static int read_place(sqlite3_stmt *statement, JobInfo *info) {
        const char *cgroup = text_at(statement, 22);
        int enclosure = job_enclosure_find(text_at(statement, 21));

        info->node = node_at(statement, 18);
        info->n_nodes = u32_at(statement, 19);
        info->n_ranks = u32_at(statement, 20);
        info->enclosure = enclosure < 0 ? ENCLOSURE_NONE : (Enclosure)enclosure;
        if (cgroup[0] == '\0')
                return 0;

        info->cgroup = strdup(cgroup);
        return info->cgroup ? 0 : -ENOMEM;
}

/* Reads the description of the job. Malformed labels are left out. 0 or -ENOMEM. */
static int read_info(sqlite3_stmt *statement, JobInfo *info) {
        COPY_TEXT(info->id, text_at(statement, 1));
        COPY_TEXT(info->name, text_at(statement, 2));
        COPY_TEXT(info->user, text_at(statement, 3));
        COPY_TEXT(info->command, text_at(statement, 4));
        info->uid = (uint32_t)sqlite3_column_int64(statement, 6);
        info->gid = (uint32_t)sqlite3_column_int64(statement, 7);
        info->pid = sqlite3_column_int(statement, 8);
        info->pid_start_ticks = (uint64_t)sqlite3_column_int64(statement, 9);
        info->rank = sqlite3_column_int64(statement, 10);
        if (read_place(statement, info) < 0 || job_text_parse_labels(text_at(statement, 5), info) < 0)
                return -ENOMEM;
        return 0;
}

static int read_card(sqlite3_stmt *statement, JobDescription *ret) {
        scoped(job_info_deinit) JobInfo info = {};
        const char *note = text_at(statement, 17);
        int r;

        r = read_info(statement, &info);
        if (r == 0)
                r = job_description_make(&info, ret);
        return r == 0 && *note ? job_description_set_note(ret, note) : r;
}

int job_columns_read(sqlite3_stmt *statement, JobView *ret) {
        /* A state of a later version is one we know nothing good of. */
        int state = job_state_find(text_at(statement, 11));

        *ret = (JobView){
                .state = state < 0 ? JOB_INTERRUPTED : (JobState)state,
                .begin_realtime_ms = (uint64_t)sqlite3_column_int64(statement, 12),
                .end_realtime_ms = (uint64_t)sqlite3_column_int64(statement, 13),
                .n_phases = u32_at(statement, 23),
        };
        if (ret->state != JOB_RUNNING)
                read_end(statement, &ret->end);
        if (read_card(statement, &ret->info) < 0) {
                job_description_deinit(&ret->info);
                return -ENOMEM;
        }
        return 0;
}
