/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/detection/found_group.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/scoped.h"

#define HOST_NAME_BYTES 65

/*
 * Finds the hierarchies that contain the group, and its owner; the owner is root if the hierarchies differ. Returns
 * false if the group no longer exists.
 */
static bool find_place(const CgroupTree *tree, const char *path, CgroupPlace *ret, uint32_t *ret_owner) {
        bool is_there = false;

        *ret = (CgroupPlace){};
        for (Hierarchy h = 0; h < N_HIERARCHIES; h++) {
                char whole[CGROUP_PATH_MAX];
                scoped(closep) int fd = -1;
                struct stat st;

                if (cgroup_tree_path(tree, h, path, whole) != 0 || cgroup_tree_open(tree, h, whole, &fd) != 0 ||
                    fstat(fd, &st) < 0 || cgroup_tree_place_set(ret, h, whole) != 0)
                        continue;
                *ret_owner = is_there && *ret_owner != st.st_uid ? 0 : st.st_uid;
                is_there = true;
        }
        return is_there;
}

/*
 * Returns true for the name of this machine: packages of Slurm that support several slurmd name the node even if
 * there is only one.
 */
static bool is_host(const char *node) {
        char host[HOST_NAME_BYTES] = "";
        size_t n;

        (void)gethostname(host, sizeof(host) - 1);
        n = strcspn(host, ".");
        return (strncmp(node, host, n) == 0 && node[n] == '\0') || strcmp(node, host) == 0;
}

static bool take_names(FoundGroup *found, const PatternMatch *match) {
        const char *node = match->node[0] && !is_host(match->node) ? match->node : "";
        int n = snprintf(found->job, sizeof(found->job), "%s%s%s", match->job, *node ? "." : "", node);

        memcpy(found->path_job, match->job, sizeof(found->path_job));
        memcpy(found->node, match->node, sizeof(found->node));
        return (size_t)n < sizeof(found->job);
}

int found_group_find(const CgroupTree *tree, const FinderRule *rule, const char *path, FoundGroup *ret) {
        FoundGroup found = {};
        PatternMatch match;

        if (pattern_match(&rule->pattern, path, &match) != 0 || !take_names(&found, &match))
                return FOUND_GROUP_NAMELESS;
        if (!find_place(tree, path, &found.place, &found.owner_uid))
                return FOUND_GROUP_GONE;

        found.is_sluid = match.is_sluid;
        found.has_uid = match.has_uid;
        found.uid = match.uid;
        memcpy(found.pattern, rule->setting, sizeof(found.pattern));
        *ret = found;
        return 0;
}

bool found_group_is_of(const FoundGroup *found, const JobDescription *job) {
        const char *name = job_description_label(job, found->is_sluid ? "sluid" : "slurm_job");
        const char *node = job_description_label(job, "slurm_node");

        if (strcmp(found->job, job->id) == 0)
                return true;
        if (!name || strcasecmp(name, found->path_job) != 0)
                return false;
        return !found->node[0] || !node || strcmp(node, found->node) == 0;
}
