/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/job_description.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct DescriptionBlock {
        size_t n_cards; /* that share it */
        DescriptionLabel labels[];
        /* and after them the texts */
};

void job_description_deinit(JobDescription *card) {
        if (card->block && --card->block->n_cards == 0)
                free(card->block);
        *card = (JobDescription){};
}

void job_description_share(const JobDescription *from, JobDescription *to) {
        if (from->block != to->block) {
                if (from->block)
                        from->block->n_cards++;
                job_description_deinit(to);
        }
        *to = *from;
}

/* --- a new block ------------------------------------------------------------------------------ */

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

/* A card like `from`, whose texts may lie anywhere, in a block of its own. */
static int make(const JobDescription *from, JobDescription *ret) {
        DescriptionBlock *block = malloc(n_bytes_of(from));
        JobDescription card = *from;
        char *at;

        if (!block)
                return -ENOMEM;

        block->n_cards = 1;
        at = (char *)(block->labels + from->n_labels);
        card.block = block;
        card.id = put_text(&at, from->id);
        card.name = put_text(&at, from->name);
        card.command = put_text(&at, from->command);
        card.user = put_text(&at, from->user);
        card.cgroup = put_text(&at, from->cgroup);
        card.note = put_text(&at, from->note);
        card.labels = block->labels;
        for (size_t i = 0; i < from->n_labels; i++) {
                block->labels[i].key = put_text(&at, from->labels[i].key);
                block->labels[i].value = put_text(&at, from->labels[i].value);
        }
        *ret = card;
        return 0;
}

int job_description_make(const JobInfo *info, JobDescription *ret) {
        scoped(freep) DescriptionLabel *labels = NULL;
        JobDescription from = {
                .id = info->id, .name = info->name, .command = info->command, .user = info->user, .cgroup = info->cgroup,
                .note = "", .uid = info->uid, .gid = info->gid, .pid = info->pid, .pid_start_ticks = info->pid_start_ticks,
                .rank = info->rank, .node = info->node, .n_nodes = info->n_nodes, .n_ranks = info->n_ranks,
                .enclosure = info->enclosure,
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

static int remake(JobDescription *card, const JobDescription *changed) {
        JobDescription made;
        int r;

        r = make(changed, &made);
        if (r < 0)
                return r;

        job_description_deinit(card);
        *card = made;
        return 0;
}

int job_description_set_id(JobDescription *card, const char *id) {
        JobDescription changed = *card;

        changed.id = id;
        return remake(card, &changed);
}

int job_description_set_cgroup(JobDescription *card, const char *cgroup) {
        JobDescription changed = *card;

        changed.cgroup = cgroup;
        return remake(card, &changed);
}

int job_description_set_note(JobDescription *card, const char *note) {
        JobDescription changed = *card;

        changed.note = note;
        return remake(card, &changed);
}

/* --- reading ---------------------------------------------------------------------------------- */

const char *job_description_label(const JobDescription *card, const char *key) {
        for (size_t i = 0; i < card->n_labels; i++)
                if (strcmp(card->labels[i].key, key) == 0)
                        return card->labels[i].value;
        return NULL;
}

/* Everything fitted when the card was made. */
static int copy_labels(const JobDescription *card, JobInfo *info) {
        if (card->n_labels == 0)
                return 0;

        info->labels = calloc(card->n_labels, sizeof(*info->labels));
        if (!info->labels)
                return -ENOMEM;

        for (; info->n_labels < card->n_labels; info->n_labels++) {
                strcpy(info->labels[info->n_labels].key, card->labels[info->n_labels].key);
                strcpy(info->labels[info->n_labels].value, card->labels[info->n_labels].value);
        }
        return 0;
}

int job_description_info(const JobDescription *card, JobInfo *ret) {
        scoped(job_info_deinit) JobInfo info = {
                .uid = card->uid, .gid = card->gid, .pid = card->pid, .pid_start_ticks = card->pid_start_ticks,
                .rank = card->rank, .node = card->node, .n_nodes = card->n_nodes, .n_ranks = card->n_ranks,
                .enclosure = card->enclosure,
        };
        int r;

        strcpy(info.id, card->id);
        strcpy(info.name, card->name);
        strcpy(info.command, card->command);
        strcpy(info.user, card->user);
        r = copy_labels(card, &info);
        if (r < 0)
                return r;
        if (card->cgroup) {
                info.cgroup = strdup(card->cgroup);
                if (!info.cgroup)
                        return -ENOMEM;
        }

        *ret = info;
        info = (JobInfo){};
        return 0;
}
