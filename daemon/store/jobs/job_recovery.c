/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jobs/job_recovery.h"

#include <errno.h>
#include <stdlib.h>

#include "store/jobs/job_columns.h"
#include "store/read/read_connection.h"
#include "util/array.h"

#define ATTEMPTS 3

/* --- the meter ----------------------------------------------------------------------------------- */

enum { METER_ACCOUNT, METER_BOOT_ID, METER_TIME, N_METER_COLUMNS };

STATEMENT meter_find = { "SELECT account, boot_id, time_ms FROM meter", N_METER_COLUMNS };

static int read_meter(ReadConnection *connection, JobRecovery *recovery) {
        const Prepared *row;
        int r;

        r = read_connection_begin(connection, &meter_find, NULL, 0);
        if (r == 0)
                r = read_connection_step(connection, &row);
        if (r != 0)
                return r;

        recovery->meter_realtime_ms = column_u64(row, METER_TIME);
        r = statement_column_copy(row, METER_ACCOUNT, &recovery->meter);
        return r < 0 ? r : statement_column_copy(row, METER_BOOT_ID, &recovery->boot_id);
}

/* --- totals of ended jobs ------------------------------------------------------------------------- */

STATEMENT totals_find = { "SELECT text FROM job_totals", 1 };

static int read_totals(ReadConnection *connection, JobRecovery *recovery) {
        const Prepared *row;
        int r;

        r = read_connection_begin(connection, &totals_find, NULL, 0);
        if (r == 0)
                r = read_connection_step(connection, &row);
        return r != 0 ? r : statement_column_copy(row, 0, &recovery->totals);
}

/* --- running jobs -------------------------------------------------------------------------------- */

enum { RUNNING_CHECKPOINT = N_JOB_COLUMNS, RUNNING_BOOT_ID, RUNNING_PROGRESS, RUNNING_BEGUN_BY, RUNNING_BY_ADMIN, N_RUNNING_COLUMNS };

STATEMENT running_jobs = {
        "SELECT " JOB_COLUMNS ", checkpoint_ms, boot_id, window, begun_by, by_admin FROM job INDEXED BY job_by_state"
        " LEFT JOIN running ON running.job = job.row WHERE state = 'running' ORDER BY begin_ms, row",
        N_RUNNING_COLUMNS,
};

static int read_info(const Prepared *row, JobInfo *ret, uint64_t *ret_begin_ms) {
        JobView view;
        int r;

        r = job_columns_read(row, &view);
        if (r < 0)
                return r;

        r = job_description_info(&view.info, ret);
        *ret_begin_ms = view.begin_realtime_ms;
        job_description_deinit(&view.info);
        return r;
}

static int add_job(const Prepared *row, JobRecovery *recovery) {
        RecoveredJob *job;
        uint64_t begin_ms = 0;
        JobInfo info;
        int r;

        r = ARRAY_EXTEND(recovery->jobs, recovery->n_jobs);
        if (r == 0)
                r = read_info(row, &info, &begin_ms);
        if (r < 0)
                return r;

        job = &recovery->jobs[recovery->n_jobs++];
        *job = (RecoveredJob){
                .info = info,
                .begin_realtime_ms = begin_ms,
                .begun_by = (uint32_t)column_u64(row, RUNNING_BEGUN_BY),
                .is_by_admin = column_i64(row, RUNNING_BY_ADMIN),
                .checkpoint_realtime_ms = column_u64(row, RUNNING_CHECKPOINT),
        };
        r = statement_column_copy(row, RUNNING_BOOT_ID, &job->boot_id);
        return r < 0 ? r : statement_column_copy(row, RUNNING_PROGRESS, &job->progress);
}

static int read_jobs(ReadConnection *connection, JobRecovery *recovery) {
        const Prepared *row;
        int r;

        r = read_connection_begin(connection, &running_jobs, NULL, 0);
        while (r == 0 && (r = read_connection_step(connection, &row)) == 0)
                r = add_job(row, recovery);
        return r;
}

/* --- all of it ---------------------------------------------------------------------------------------- */

static int read_all(const char *path, WalBarrier *barrier, JobRecovery *recovery) {
        scoped(read_connection_deinit) ReadConnection connection;
        int r;

        r = read_connection_init(&connection, path, barrier, UINT64_MAX);
        if (r == 0)
                r = read_meter(&connection, recovery);
        if (r == 0 || r == READER_END)
                r = read_totals(&connection, recovery);
        if (r == 0 || r == READER_END)
                r = read_jobs(&connection, recovery);
        return r == READER_END ? 0 : r > 0 ? -EIO : r;
}

static int read_once(const char *path, WalBarrier *barrier, JobRecovery **ret) {
        scoped(job_recovery_freep) JobRecovery *recovery = NULL;
        int r;

        recovery = calloc(1, sizeof(*recovery));
        if (!recovery)
                return -ENOMEM;

        r = path ? read_all(path, barrier, recovery) : 0;
        if (r < 0)
                return r;

        *ret = TAKE(recovery);
        return 0;
}

/* Damage that is found here makes the writer replace the file; the next attempt waits for the new file. */
int job_recovery_read(const char *path, WalBarrier *barrier, JobRecovery **ret) {
        int r = -EIO;

        for (int i = 0; r == -EIO && i < ATTEMPTS; i++)
                r = read_once(path, barrier, ret);
        return r;
}

JobRecovery *job_recovery_free(JobRecovery *recovery) {
        if (!recovery)
                return NULL;

        for (size_t i = 0; i < recovery->n_jobs; i++) {
                job_info_deinit(&recovery->jobs[i].info);
                free(recovery->jobs[i].progress);
                free(recovery->jobs[i].boot_id);
        }
        free(recovery->totals);
        free(recovery->jobs);
        free(recovery->meter);
        free(recovery->boot_id);
        free(recovery);
        return NULL;
}
