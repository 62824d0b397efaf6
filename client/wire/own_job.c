/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/own_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/scoped.h"

#define SLURM_DIRECTORY "/run/perfd-slurm" /* as in the prolog */

const char *own_job_slurm(void) {
        const char *id = getenv("SLURM_JOB_ID");

        return id && *id && strlen(id) <= 10 && id[strspn(id, "0123456789")] == '\0' ? id : NULL;
}

/* Reads the id that the prolog has saved: that of a requeued job, for example, is not its number. */
static bool read_saved(const char *slurm, char ret[static JOB_ID_MAX]) {
        const char *directory = getenv("PERFD_SLURM_DIRECTORY") ?: SLURM_DIRECTORY;
        scoped(freep) char *text = NULL, *path = NULL;

        if (asprintf(&path, "%s/%s.%s", directory, slurm, getenv("SLURMD_NODENAME") ?: "") < 0) {
                path = NULL;
                return false;
        }
        text = file_read_text(AT_FDCWD, path, JOB_ID_MAX);
        if (!text)
                return false;
        text[strcspn(text, "\n")] = '\0';
        if (!indicator_name_is_valid(text, JOB_ID_MAX - 1))
                return false;
        strcpy(ret, text);
        return true;
}

const char *own_job(char ret[static JOB_ID_MAX]) {
        const char *job = getenv("PERFD_JOB") ?: "", *slurm = own_job_slurm(), *set_in = getenv("PERFD_JOB_SLURM");

        if (*job && (!slurm || !set_in || strcmp(set_in, slurm) == 0))
                return job;
        return slurm && read_saved(slurm, ret) ? ret : "";
}
