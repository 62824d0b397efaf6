/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

const char *const job_state_names[N_JOB_STATES + 1] = {
        [JOB_RUNNING] = "running",
        [JOB_FINISHED] = "finished",
        [JOB_INTERRUPTED] = "interrupted",
};

const char *job_state_name(JobState state) {
        assert(state < N_JOB_STATES);
        return job_state_names[state];
}

int job_state_find(const char *name) {
        for (size_t i = 0; i < N_JOB_STATES; i++)
                if (strcmp(job_state_names[i], name) == 0)
                        return (int)i;
        return -1;
}

const char *const job_isolation_choices[ISOLATION_FOUND + 1] = {
        [ISOLATION_NONE] = "none", [ISOLATION_SCOPE] = "scope", [ISOLATION_CGROUP] = "cgroup", [ISOLATION_SUBREAPER] = "subreaper",
};
_Static_assert(ISOLATION_FOUND + 1 == N_ISOLATIONS, "the kind of isolation that cannot be requested is the last");

const char *job_isolation_name(Isolation isolation) {
        assert(isolation < N_ISOLATIONS);
        return job_isolation_choices[isolation] ?: "found";
}

int job_isolation_find(const char *name) {
        for (Isolation i = 0; i < N_ISOLATIONS; i++)
                if (strcmp(job_isolation_name(i), name) == 0)
                        return (int)i;
        return -1;
}

void job_info_deinit(JobInfo *info) {
        free(info->labels);
        free(info->cgroup);
        info->labels = NULL;
        info->cgroup = NULL;
        info->n_labels = 0;
}

void job_rusage_write_json(const JobRusage *rusage, Json *json) {
        json_object_begin(json);
        json_put_double(json, "ru_utime", rusage->ru_utime);
        json_put_double(json, "ru_stime", rusage->ru_stime);
#define X(field) json_put_int(json, #field, rusage->field);
        RUSAGE_FIELDS(X)
#undef X
        json_object_end(json);
}
