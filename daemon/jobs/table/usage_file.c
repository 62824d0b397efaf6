/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/usage_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/table/running_job.h"
#include "util/buffer.h"

/* Numbers of a usage and of a sample in the order of the file. Those of a usage are followed by the samples `begin`
 * and `last`. */
#define USAGE_NUMBERS(X) X(is_fresh) X(unseen_us) X(seen) X(memory_max_bytes) X(pids_max) X(parts_ms) \
        X(parts_max_bytes[USAGE_MEMORY_ANON]) X(parts_max_bytes[USAGE_MEMORY_FILE]) X(parts_max_bytes[USAGE_MEMORY_KERNEL]) \
        X(parts_max_bytes[USAGE_MEMORY_SHMEM]) X(parts_max_bytes[USAGE_MEMORY_ALL]) X(parts_kib_ms[USAGE_MEMORY_ANON]) \
        X(parts_kib_ms[USAGE_MEMORY_FILE]) X(parts_kib_ms[USAGE_MEMORY_KERNEL]) X(parts_kib_ms[USAGE_MEMORY_SHMEM]) \
        X(energy.is_metered) X(energy.is_absent) X(energy.begin_uj) X(energy.last_uj) X(energy.cpu_us)
#define SAMPLE_NUMBERS(X) X(boottime_ns) X(have) X(n_cpus) CGROUP_VALUES(X)

#define X(member, ...) " " #member
static const char columns[] = " job begin_ms cgroup is_cut" USAGE_NUMBERS(X) " begin:" SAMPLE_NUMBERS(
        X) " last:" SAMPLE_NUMBERS(X) "\n";
#undef X

void usage_file_deinit(UsageFile *counters) {
        runtime_file_free(counters->file);
        free(counters->former);
        *counters = (UsageFile){};
}

/* Texts of another boot or version, and damaged ones, are left. */
static int read_former(UsageFile *counters) {
        scoped(freep) char *text = NULL;
        size_t n = strlen(counters->boot_id);
        int r;

        r = runtime_file_read(counters->file, &text, NULL);
        if (r != 0)
                return r < 0 ? r : 0;
        if (strncmp(text, counters->boot_id, n) == 0 && strncmp(text + n, columns, sizeof(columns) - 1) == 0)
                counters->former = TAKE(text);
        return 0;
}

int usage_file_open(UsageFile *counters, const char *path, const char *boot_id) {
        int r;

        (void)snprintf(counters->boot_id, sizeof(counters->boot_id), "%s", boot_id);
        r = runtime_file_open(&counters->file, path);
        return r < 0 ? r : read_former(counters);
}

void usage_file_forget(UsageFile *counters) {
        free(TAKE(counters->former));
}

/* --- reading ------------------------------------------------------------------------------------ */

/* The checksum shows that a line was written completely: a missing number is 0. */
static uint64_t take_u64(const char **at) {
        char *end;
        uint64_t value = strtoull(*at, &end, 10);

        *at = end;
        return value;
}

static void take_sample(const char **at, CgroupSample *ret) {
#define X(member, ...) ret->member = (__typeof__(ret->member))take_u64(at);
        SAMPLE_NUMBERS(X)
#undef X
}

static void take_group(const char *at, FormerUsage *ret) {
        *ret = (FormerUsage){ .id = take_u64(&at) };
        ret->is_usage_cut = take_u64(&at);
#define X(member) ret->usage.member = (__typeof__(ret->usage.member))take_u64(&at);
        USAGE_NUMBERS(X)
#undef X
        take_sample(&at, &ret->usage.begin);
        take_sample(&at, &ret->usage.last);
}

bool usage_file_find(const UsageFile *counters, const char *id, uint64_t begin_realtime_ms, FormerUsage *ret) {
        const char *line = counters->former ? strchr(counters->former, '\n') : NULL;
        size_t n = strlen(id);

        for (; line; line = strchr(line, '\n')) {
                line++;
                if (strncmp(line, id, n) != 0 || line[n] != ' ')
                        continue;
                line += n;
                if (take_u64(&line) != begin_realtime_ms)
                        continue;
                take_group(line, ret);
                return true;
        }
        return false;
}

/* --- writing ------------------------------------------------------------------------------------ */

#define X(...) +1
enum { N_NUMBERS = 3 USAGE_NUMBERS(X) + 2 * (0 SAMPLE_NUMBERS(X)) };
#undef X

static char *put_u64(char *p, uint64_t value) {
        *p++ = ' ';
        if (value >= 10)
                return buffer_write_u64(p, value);
        *p = (char)('0' + value); /* most numbers are 0 */
        return p + 1;
}

static char *put_sample(char *p, const CgroupSample *sample) {
#define X(member, ...) p = put_u64(p, sample->member);
        SAMPLE_NUMBERS(X)
#undef X
        return p;
}

static void put_job(Buffer *text, const Job *job) {
        char line[N_NUMBERS * (1 + BUFFER_U64_MAX) + 1], *p = line;
        const Usage *usage = job->group.usage;

        p = put_u64(p, job->begin_realtime_ms);
        p = put_u64(p, job->group.id);
        p = put_u64(p, job->group.is_usage_cut);
#define X(member) p = put_u64(p, usage->member);
        USAGE_NUMBERS(X)
#undef X
        p = put_sample(p, &usage->begin);
        p = put_sample(p, &usage->last);
        *p++ = '\n';
        assert(p <= line + sizeof(line));

        buffer_puts(text, job->info.id);
        buffer_put(text, line, (size_t)(p - line));
}

/* Without room for the text, a restart continues with the checkpoints of the store. */
void usage_file_write(UsageFile *counters, const Job *first) {
        scoped(buffer_deinit) Buffer text = {};

        if (!counters->file)
                return;
        if (counters->n_text > 0)
                /* growing step by step would copy the text several times */
                (void)buffer_reserve(&text, counters->n_text);
        for (const Job *job = first; job; job = job->links.next) {
                if (!job->group.usage)
                        continue;
                if (text.n == 0) {
                        buffer_puts(&text, counters->boot_id);
                        buffer_puts(&text, columns);
                }
                put_job(&text, job);
        }
        if (text.n == 0 && counters->n_empty >= 2)
                return;
        counters->n_empty = text.n == 0 ? counters->n_empty + 1 : 0;
        counters->n_text = text.n;
        if (buffer_error(&text) < 0 || runtime_file_write(counters->file, text.text ?: "", text.n) < 0)
                counters->file = runtime_file_free(counters->file);
}
