/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/steps.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "util/file.h"

#define PREFIX "step_"

static Steps *steps_new(void) {
        scoped(steps_freep) Steps *steps = calloc(1, sizeof(*steps));

        if (!steps)
                return NULL;
        steps->list.items = calloc(JOB_STEPS_MAX, sizeof(*steps->list.items));
        return steps->list.items ? TAKE(steps) : NULL;
}

Steps *steps_free(Steps *steps) {
        if (!steps)
                return NULL;

        for (size_t i = 0; i < steps->list.n; i++)
                cgroup_free(steps->groups[i]);
        free(steps->list.items);
        free(steps);
        return NULL;
}

int steps_restore(Steps **ret, const JobSteps *list) {
        if (list->n == 0)
                return 0;
        *ret = steps_new();
        if (!*ret)
                return -ENOMEM;

        assert(list->n <= JOB_STEPS_MAX);
        (*ret)->list = (JobSteps){ (*ret)->list.items, list->n, list->others };
        memcpy((*ret)->list.items, list->items, list->n * sizeof(*list->items));
        return 0;
}

/* --- finding -------------------------------------------------------------------------------------- */

/* Adds the step that used least to the others, of those that have ended. False: none has. */
static bool make_room(Steps *steps) {
        JobSteps *list = &steps->list;
        JobStep *least = NULL;
        size_t i;

        for (i = 0; i < list->n; i++)
                if (list->items[i].end_ms > 0 && (!least || list->items[i].cpu_us < least->cpu_us))
                        least = &list->items[i];
        if (!least)
                return false;

        job_steps_add(&list->others, least);
        i = (size_t)(least - list->items);
        list->n--;
        memmove(least, least + 1, (list->n - i) * sizeof(*least));
        memmove(&steps->groups[i], &steps->groups[i + 1], (list->n - i) * sizeof(steps->groups[0]));
        steps->groups[list->n] = NULL;
        return true;
}

/* A step that was read already, in the same group; else a new one. NULL: there is no room. */
static JobStep *find_item(Steps *steps, const char *name, uint64_t group_id, uint64_t now_ms) {
        JobSteps *list = &steps->list;
        JobStep *step;

        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].group_id == group_id && strcmp(list->items[i].name, name) == 0)
                        return &list->items[i];
        if (list->n == JOB_STEPS_MAX && !make_room(steps))
                return NULL;

        step = &list->items[list->n++];
        *step = (JobStep){ .n_steps = 1, .group_id = group_id, .begin_ms = now_ms };
        (void)snprintf(step->name, sizeof(step->name), "%s", name);
        return step;
}

/* Hierarchies of v1 are created one after the other: a step whose memory is not known yet is opened again. */
static bool is_followed(const Steps *steps, const char *name) {
        for (size_t i = 0; i < steps->list.n; i++)
                if (steps->groups[i] && strcmp(steps->list.items[i].name, name) == 0)
                        return steps->list.items[i].have & (1U << CGROUP_MEMORY_PEAK);
        return false;
}

static void follow(Steps *steps, CgroupTree *tree, const CgroupPlace *job, const char *entry, uint64_t now_ms) {
        scoped(cgroup_freep) Cgroup *group = NULL;
        const char *name = entry + strlen(PREFIX);
        char path[CGROUP_PATH_MAX];
        CgroupPlace place = {};
        JobStep *step;

        if (strlen(name) >= JOB_STEP_NAME_MAX || is_followed(steps, name))
                return;
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                const char *above = cgroup_tree_place_path(job, h);

                if (*above && ((size_t)snprintf(path, sizeof(path), "%s/%s", above, entry) >= sizeof(path) ||
                               cgroup_tree_place_set(&place, h, path) != 0))
                        return;
        }
        if (cgroup_open_step(&group, tree, &place) != 0)
                return;

        step = find_item(steps, name, cgroup_id(group), now_ms);
        if (!step)
                return;
        step->end_ms = 0;
        cgroup_free(steps->groups[step - steps->list.items]);
        steps->groups[step - steps->list.items] = TAKE(group);
}

void steps_find(Steps **steps, CgroupTree *tree, const char *group, uint64_t now_ms) {
        scoped(closedirp) DIR *list = NULL;
        scoped(closep) int fd = -1;
        const struct dirent *entry;
        CgroupPlace place;
        Hierarchy main;

        if (cgroup_tree_place_from_name(group, &place) != 0)
                return;
        main = cgroup_tree_place_main(&place);
        if (cgroup_tree_open(tree, main, cgroup_tree_place_path(&place, main), &fd) != 0)
                return;

        list = file_open_list(fd, ".");
        while (list && (entry = readdir(list))) {
                if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
                        continue;
                *steps = *steps ?: steps_new();
                if (*steps)
                        follow(*steps, tree, &place, entry->d_name, now_ms);
        }
}

bool steps_may_grow(const Steps *steps, uint64_t now_ms) {
        for (size_t i = 0; steps && i < steps->list.n; i++)
                if (steps->groups[i] && !is_followed(steps, steps->list.items[i].name) &&
                    now_ms - steps->list.items[i].begin_ms <= STEPS_GROW_MS)
                        return true;
        return false;
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* The counters of a group only grow, from 0. */
static void take(JobStep *step, const CgroupSample *sample) {
        uint64_t memory = cgroup_sample_has(sample, CGROUP_MEMORY_PEAK) ? sample->memory_peak_bytes
                                                                       : sample->memory_bytes;

        step->have |= sample->have & (1U << CGROUP_CPU | 1U << CGROUP_IO | 1U << CGROUP_MEMORY_PEAK);
        if (cgroup_sample_has(sample, CGROUP_MEMORY))
                step->have |= 1U << CGROUP_MEMORY_PEAK;
        step->cpu_us = MAX(step->cpu_us, sample->usage_us);
        step->memory_peak_bytes = MAX(step->memory_peak_bytes, memory);
        step->read_bytes = MAX(step->read_bytes, sample->read_bytes);
        step->written_bytes = MAX(step->written_bytes, sample->write_bytes);
}

void steps_read(Steps *steps, uint64_t boottime_ns, uint64_t now_ms) {
        for (size_t i = 0; steps && i < steps->list.n; i++) {
                JobStep *step = &steps->list.items[i];
                CgroupSample sample;

                if (steps->groups[i] && cgroup_refresh(steps->groups[i], boottime_ns, &sample) == 0) {
                        take(step, &sample);
                        step->seen_ms = now_ms;
                        continue;
                }
                steps->groups[i] = cgroup_free(steps->groups[i]);
                if (step->end_ms == 0) {
                        step->end_ms = now_ms;
                        step->unseen_ms = now_ms > step->seen_ms ? now_ms - step->seen_ms : 0;
                }
        }
}
