/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_columns.h"

#include <errno.h>

#include "store/jobs/job_text.h"

/* Columns that are members of a JobInfo, from JOB_INFO on. All texts fit, because they were checked before they were stored. */
static const StoreColumn info_columns[] = {
        COLUMN(JobInfo, id),
        COLUMN(JobInfo, name),
        COLUMN(JobInfo, user),
        COLUMN(JobInfo, command),
        COLUMN(JobInfo, uid),
        COLUMN(JobInfo, gid),
        COLUMN(JobInfo, pid),
        COLUMN(JobInfo, pid_start_ticks),
        COLUMN(JobInfo, rank),
        COLUMN(JobInfo, node),
        COLUMN(JobInfo, n_nodes),
        COLUMN(JobInfo, n_ranks),
};

/* Columns that are members of a JobView, from JOB_BEGIN on. */
static const StoreColumn view_columns[] = {
        COLUMN(JobView, begin_realtime_ms),
        COLUMN(JobView, end_realtime_ms),
        COLUMN(JobView, n_phases),
};

/* Numbers of the other columns. */
enum {
        JOB_INFO = 1,
        JOB_LABELS = JOB_INFO + N_ELEMENTS(info_columns),
        JOB_ISOLATION,
        JOB_CGROUP,
        JOB_STATE,
        JOB_BEGIN,
        JOB_EXIT_STATUS = JOB_BEGIN + N_ELEMENTS(view_columns),
        JOB_SIGNAL,
        JOB_RUSAGE,
        JOB_NOTE,
        N_COLUMNS,
};

_Static_assert(N_COLUMNS == N_JOB_COLUMNS, "JOB_COLUMNS has these columns");

static const char *text_at(const Prepared *row, int i) {
        return column_text(row, i) ?: "";
}

static void read_end(const Prepared *row, JobEnd *ret) {
        ret->has_exit_status = !column_is_null(row, JOB_EXIT_STATUS);
        ret->exit_status = (int32_t)column_i64(row, JOB_EXIT_STATUS);
        ret->signal = (int32_t)column_i64(row, JOB_SIGNAL);
        ret->has_rusage = record_parse(&job_rusage_record, text_at(row, JOB_RUSAGE), &ret->rusage) == 0;
}

/* Reads the description of the job. Malformed labels are left out. 0 or -ENOMEM. */
static int read_info(const Prepared *row, JobInfo *info) {
        int isolation = job_isolation_find(text_at(row, JOB_ISOLATION));
        bool has_cgroup = text_at(row, JOB_CGROUP)[0] != '\0';

        (void)statement_read(row, JOB_INFO, info_columns, N_ELEMENTS(info_columns), info);
        info->isolation = isolation < 0 ? ISOLATION_NONE : (Isolation)isolation;
        if ((has_cgroup && statement_column_copy(row, JOB_CGROUP, &info->cgroup) < 0) ||
            job_text_parse_labels(text_at(row, JOB_LABELS), info) < 0)
                return -ENOMEM;
        return 0;
}

static int read_card(const Prepared *row, JobDescription *ret) {
        scoped(job_info_deinit) JobInfo info = {};
        const char *note = text_at(row, JOB_NOTE);
        int r;

        r = read_info(row, &info);
        if (r == 0)
                r = job_description_make(&info, ret);
        return r == 0 && *note ? job_description_set_note(ret, note) : r;
}

int job_columns_read(const Prepared *row, JobView *ret) {
        /* An unknown state was written by a later version: the job counts as interrupted. */
        int state = job_state_find(text_at(row, JOB_STATE));

        *ret = (JobView){ .state = state < 0 ? JOB_INTERRUPTED : (JobState)state };
        (void)statement_read(row, JOB_BEGIN, view_columns, N_ELEMENTS(view_columns), ret);
        if (ret->state != JOB_RUNNING)
                read_end(row, &ret->end);
        if (read_card(row, &ret->info) < 0) {
                job_description_deinit(&ret->info);
                return -ENOMEM;
        }
        return 0;
}
