/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/job_description.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Initializers of the members that are the same in a JobInfo and a JobDescription. */
#define NUMBERS_OF(from)                                                                                               \
        .uid = (from)->uid, .gid = (from)->gid, .pid = (from)->pid, .pid_start_ticks = (from)->pid_start_ticks,        \
        .rank = (from)->rank, .node = (from)->node, .n_nodes = (from)->n_nodes, .n_ranks = (from)->n_ranks,            \
        .isolation = (from)->isolation

struct DescriptionBlock {
        size_t n_references; /* number of descriptions that share the block */
        DescriptionLabel labels[];
        /* followed by the texts */
};

void job_description_deinit(JobDescription *description) {
        if (description->block && --description->block->n_references == 0)
                free(description->block);
        *description = (JobDescription){};
}

void job_description_share(const JobDescription *from, JobDescription *to) {
        if (from->block != to->block) {
                if (from->block)
                        from->block->n_references++;
                job_description_deinit(to);
        }
        *to = *from;
}

/* --- building a block ------------------------------------------------------------------------- */

static size_t n_bytes_of(const JobDescription *from) {
        const char *const texts[] = { from->id, from->name, from->command, from->user, from->cgroup, from->note };
        size_t n = sizeof(DescriptionBlock) + from->n_labels * sizeof(*from->labels);

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                n += texts[i] ? strlen(texts[i]) + 1 : 0;
        for (size_t i = 0; i < from->n_labels; i++)
                n += strlen(from->labels[i].key) + 1 + strlen(from->labels[i].value) + 1;
        return n;
}

static const char *put_text(char **at, const char *text) {
        char *begin = *at;

        if (!text)
                return NULL;

        *at = stpcpy(begin, text) + 1;
        return begin;
}

/* Makes a copy of `from`, whose texts may be in several places, with a block of its own. */
static int make(const JobDescription *from, JobDescription *ret) {
        DescriptionBlock *block = malloc(n_bytes_of(from));
        JobDescription description = *from;
        char *at;

        if (!block)
                return -ENOMEM;

        block->n_references = 1;
        at = (char *)(block->labels + from->n_labels);
        description.block = block;
        description.id = put_text(&at, from->id);
        description.name = put_text(&at, from->name);
        description.command = put_text(&at, from->command);
        description.user = put_text(&at, from->user);
        description.cgroup = put_text(&at, from->cgroup);
        description.note = put_text(&at, from->note);
        description.labels = block->labels;
        for (size_t i = 0; i < from->n_labels; i++) {
                block->labels[i].key = put_text(&at, from->labels[i].key);
                block->labels[i].value = put_text(&at, from->labels[i].value);
        }
        *ret = description;
        return 0;
}

int job_description_make(const JobInfo *info, JobDescription *ret) {
        scoped(freep) DescriptionLabel *labels = NULL;
        JobDescription from = {
                .id = info->id,
                .name = info->name,
                .command = info->command,
                .user = info->user,
                .cgroup = info->cgroup,
                .note = "",
                NUMBERS_OF(info),
        };

        if (info->n_labels > 0) {
                labels = calloc(info->n_labels, sizeof(*labels));
                if (!labels)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < info->n_labels; i++)
                labels[i] = (DescriptionLabel){ info->labels[i].key, info->labels[i].value };
        from.n_labels = (uint32_t)info->n_labels;
        from.labels = labels;
        return make(&from, ret);
}

static int remake(JobDescription *description, const JobDescription *changed) {
        JobDescription made;
        int r;

        r = make(changed, &made);
        if (r < 0)
                return r;

        job_description_deinit(description);
        *description = made;
        return 0;
}

int job_description_set_text(JobDescription *description, size_t offset, const char *text) {
        JobDescription changed = *description;

        *(const char **)(void *)((char *)&changed + offset) = text;
        return remake(description, &changed);
}

/* --- reading ---------------------------------------------------------------------------------- */

const char *job_description_label(const JobDescription *description, const char *key) {
        for (size_t i = 0; i < description->n_labels; i++)
                if (strcmp(description->labels[i].key, key) == 0)
                        return description->labels[i].value;
        return NULL;
}

/* Cannot truncate: all texts fitted when the description was made. */
static int copy_labels(const JobDescription *description, JobInfo *info) {
        if (description->n_labels == 0)
                return 0;

        info->labels = calloc(description->n_labels, sizeof(*info->labels));
        if (!info->labels)
                return -ENOMEM;

        for (; info->n_labels < description->n_labels; info->n_labels++) {
                strcpy(info->labels[info->n_labels].key, description->labels[info->n_labels].key);
                strcpy(info->labels[info->n_labels].value, description->labels[info->n_labels].value);
        }
        return 0;
}

int job_description_info(const JobDescription *description, JobInfo *ret) {
        scoped(job_info_deinit) JobInfo info = {
                NUMBERS_OF(description),
        };
        int r;

        strcpy(info.id, description->id);
        strcpy(info.name, description->name);
        strcpy(info.command, description->command);
        strcpy(info.user, description->user);
        r = copy_labels(description, &info);
        if (r < 0)
                return r;
        if (description->cgroup) {
                info.cgroup = strdup(description->cgroup);
                if (!info.cgroup)
                        return -ENOMEM;
        }

        *ret = info;
        info = (JobInfo){};
        return 0;
}
