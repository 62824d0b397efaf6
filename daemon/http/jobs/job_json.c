/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/job_json.h"

#include "http/jobs/advice.h"
#include "util/clock.h"

static void write_end(Json *json, const JobEnd *end) {
        json_key(json, "exit");
        if (end->has_exit_status) {
                json_object_begin(json);
                json_put_int(json, "status", end->exit_status);
                json_put_int(json, "signal", end->signal);
                json_object_end(json);
        } else
                json_null(json);

        json_key(json, "rusage");
        if (end->has_rusage)
                job_rusage_write_json(&end->rusage, json);
        else
                json_null(json);
}

/* Writes the job's place in a parallel run, and its isolation. */
static void write_place(Json *json, const JobDescription *info) {
        json_put_int_or_null(json, "rank", info->rank >= 0, info->rank);
        json_put_int_or_null(json, "ranks", info->n_ranks > 0, info->n_ranks);
        json_put_int_or_null(json, "node_index", info->node >= 0, info->node);
        json_put_int_or_null(json, "nodes", info->n_nodes > 0, info->n_nodes);
        json_put_string(json, "isolation", job_isolation_name(info->isolation));
        json_put_string(json, "cgroup", info->cgroup);
}

void job_json_write_identity(Json *json, const JobView *job, const Viewer *viewer) {
        bool is_hidden = *job->info.command && !privacy_may_see(viewer, job->info.uid);

        json_put_string(json, "id", job->info.id);
        json_put_string(json, "name", job->info.name);
        json_put_string(json, "state", job_state_name(job->state));
        json_put_string(json, "command", is_hidden ? NULL : job->info.command);
        privacy_put_hidden(json, is_hidden ? "command" : NULL);
        json_put_string(json, "user", job->info.user);
        json_put_int_or_null(json, "uid", job->info.uid != JOB_UID_UNKNOWN, job->info.uid);
        json_put_int_or_null(json, "gid", job->info.gid != JOB_UID_UNKNOWN, job->info.gid);
        json_put_int(json, "pid", job->info.pid);
        write_place(json, &job->info);
        json_put_uint(json, "begin_ms", job->begin_realtime_ms);
        json_put_int_or_null(json, "end_ms", job->end_realtime_ms > 0, (int64_t)job->end_realtime_ms);
        json_put_string(json, "note", job->info.note);
        write_end(json, &job->end);
        json_put_object_begin(json, "labels");
        for (size_t i = 0; i < job->info.n_labels; i++)
                json_put_string(json, job->info.labels[i].key, job->info.labels[i].value);
        json_object_end(json);
}

void job_json_write_limits(Json *json, const UsageSet *usage) {
        double limit = usage_value(usage, USAGE_MEMORY_LIMIT);

        json_put_object_begin(json, "limits");
        json_put_double(json, "cpus", usage_value(usage, USAGE_CPU_GIVEN));
        json_put_int_or_null(json, "memory_bytes", !isnan(limit), isnan(limit) ? 0 : (int64_t)limit);
        json_object_end(json);
}

void job_json_write_node(Json *json, const NodeSnapshot *node) {
        json_put_object_begin(json, "on");
        json_put_string(json, "hostname", node ? node->identity.hostname : NULL);
        json_put_int_or_null(json, "cpus", snapshot_node_n_cpus(node) > 0, snapshot_node_n_cpus(node));
        json_put_int_or_null(json, "memory_bytes", snapshot_node_memory_bytes(node) > 0,
                             (int64_t)snapshot_node_memory_bytes(node));
        json_put_int_or_null(json, "interval_ms", node, node ? (int64_t)(node->interval_ns / NS_PER_MS) : 0);
        json_put_int_or_null(json, "cpu_interval_ms", node, node ? (int64_t)(node->cpu_interval_ns / NS_PER_MS) : 0);
        json_put_int_or_null(json, "time_ms", node, node ? (int64_t)(node->realtime_ns / NS_PER_MS) : 0);
        json_object_end(json);
}

void job_json_write_advice(Json *json, const JobView *job, const JobGpus *gpus, const NodeSnapshot *node) {
        Advice advice[ADVICE_MAX];
        size_t n = advice_give(job, gpus, node, advice);

        json_put_array_begin(json, "advice");
        for (size_t i = 0; i < n; i++) {
                json_object_begin(json);
                json_put_string(json, "rule", advice[i].rule);
                json_put_string(json, "text", advice[i].text);
                json_object_end(json);
        }
        json_array_end(json);
}

void job_json_write_no_numbers(Json *json) {
        static const char *const lists[] = { "metrics", "absent", "compat", "advice" };

        for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
                json_put_array_begin(json, lists[i]);
                json_array_end(json);
        }

        json_put_object_begin(json, "limits");
        json_put_string(json, "cpus", NULL);
        json_put_string(json, "memory_bytes", NULL);
        json_object_end(json);
}
