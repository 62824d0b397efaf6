/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/protocol.h"

#include <stdio.h>
#include <string.h>

#include "client/wire/protocol_frame.h"
#include "util/clock.h"

static void job_info_to_wire(const JobInfo *info, Perfd__V1__JobBegin *ret) {
        ret->job = (char *)info->id;
        ret->name = (char *)info->name;
        ret->command = (char *)info->command;
        ret->pid = info->pid;
        ret->nodes = info->n_nodes;
        ret->ranks = info->n_ranks;
        ret->isolation = (Perfd__V1__Isolation)info->isolation;
        if (info->rank >= 0) {
                ret->rank_given_case = PERFD__V1__JOB_BEGIN__RANK_GIVEN_RANK;
                ret->rank = info->rank;
        }
        if (info->node >= 0) {
                ret->node_given_case = PERFD__V1__JOB_BEGIN__NODE_GIVEN_NODE;
                ret->node = (uint32_t)info->node;
        }
}

static void client_cpu_to_wire(const ClientCpu *from, Perfd__V1__CpuTime *ret) {
        perfd__v1__cpu_time__init(ret);
        ret->user_us = from->user_us;
        ret->system_us = from->system_us;
}

int protocol_encode_job_begin(uint64_t sequence, const JobBegin *from, Buffer *out) {
        Perfd__V1__Label labels[JOB_LABELS_MAX], *pointers[JOB_LABELS_MAX];
        char words[JOB_GPUS_TEXT_MAX], *gpus[JOB_GPUS_MAX], *rest = words;
        Perfd__V1__JobBegin begin = PERFD__V1__JOB_BEGIN__INIT;
        const JobInfo *info = from->info;
        Perfd__V1__CpuTime cpu;

        job_info_to_wire(info, &begin);
        begin.member_pid = from->member_pid;
        begin.fresh = from->is_fresh;
        begin.late_ms = from->late_ms;
        begin.sample_ms = (uint32_t)(from->sample_ns / NS_PER_MS);
        client_cpu_to_wire(&from->client_cpu, &cpu);
        begin.client_cpu = from->is_fresh ? &cpu : NULL;
        if (from->has_uid) {
                begin.uid_given_case = PERFD__V1__JOB_BEGIN__UID_GIVEN_UID;
                begin.uid = info->uid;
        }

        begin.n_labels = info->n_labels < JOB_LABELS_MAX ? info->n_labels : JOB_LABELS_MAX;
        begin.labels = pointers;
        for (size_t i = 0; i < begin.n_labels; i++) {
                perfd__v1__label__init(&labels[i]);
                labels[i].key = info->labels[i].key;
                labels[i].value = info->labels[i].value;
                pointers[i] = &labels[i];
        }

        (void)snprintf(words, sizeof(words), "%s", info->gpus ?: "");
        begin.gpus = gpus;
        while (*words && rest && begin.n_gpus < JOB_GPUS_MAX)
                gpus[begin.n_gpus++] = strsep(&rest, ",");

        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_JOB_BEGIN, &begin, out);
}

int protocol_encode_mark(uint64_t sequence, const JobRef *job, const char *name, double wall_seconds, Buffer *out) {
        Perfd__V1__Mark mark = PERFD__V1__MARK__INIT;

        mark.job = (char *)job->id;
        mark.inherited = job->is_inherited;
        mark.name = (char *)name;
        if (wall_seconds >= 0) { /* false for NAN */
                mark.seconds_given_case = PERFD__V1__MARK__SECONDS_GIVEN_SECONDS;
                mark.seconds = wall_seconds;
        }

        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_MARK, &mark, out);
}

static void rusage_to_wire(const JobRusage *from, Perfd__V1__Rusage *ret) {
        perfd__v1__rusage__init(ret);
        ret->utime = from->ru_utime;
        ret->stime = from->ru_stime;
#define X(field) ret->field = from->ru_##field;
        RUSAGE_COUNTS(X)
#undef X
}

int protocol_encode_job_end(uint64_t sequence, const char *job, const JobEnd *from, Buffer *out) {
        Perfd__V1__CpuTime cpu;
        Perfd__V1__Rusage rusage;
        Perfd__V1__JobEnd end = PERFD__V1__JOB_END__INIT;

        end.job = (char *)job;
        end.signal = from->signal;
        end.time_ms = from->realtime_ms;
        if (from->has_exit_status) {
                end.exit_status_given_case = PERFD__V1__JOB_END__EXIT_STATUS_GIVEN_EXIT_STATUS;
                end.exit_status = from->exit_status;
        }
        if (from->has_rusage) {
                rusage_to_wire(&from->rusage, &rusage);
                end.rusage = &rusage;
                end.rusage_partial = from->is_rusage_partial;
        }
        client_cpu_to_wire(&from->client_cpu, &cpu);
        end.client_cpu = cpu.user_us + cpu.system_us > 0 ? &cpu : NULL;

        return protocol_frame_put(sequence, PERFD__V1__REQUEST__BODY_JOB_END, &end, out);
}
