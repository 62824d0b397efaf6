/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

static const char *const states[] = {
        [JOB_RUNNING] = "running",
        [JOB_FINISHED] = "finished",
        [JOB_INTERRUPTED] = "interrupted",
};

const char *job_state_name(JobState state) {
        return states[state];
}

int job_state_find(const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(states); i++)
                if (strcmp(states[i], name) == 0)
                        return (int)i;
        return -1;
}

static const char *const enclosures[N_ENCLOSURES] = {
        [ENCLOSURE_NONE] = "none",           [ENCLOSURE_SCOPE] = "scope", [ENCLOSURE_CGROUP] = "cgroup",
        [ENCLOSURE_SUBREAPER] = "subreaper", [ENCLOSURE_FOUND] = "found",
};

const char *job_enclosure_name(Enclosure enclosure) {
        return enclosures[enclosure];
}

int job_enclosure_find(const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(enclosures); i++)
                if (strcmp(enclosures[i], name) == 0)
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
