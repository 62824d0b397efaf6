/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup_parse.h"

#include "measure/sample.h"
#include "sample/pressure.h"
#include "sample/text.h"
#include "util/parse.h"

/* v1 counts modes of CPU time in clock ticks (USER_HZ). */
#define TICK_US (1000000 / TICKS_PER_S)
#define US_NS 1000

/* v1's "no limit": the most that a signed number of bytes can hold, in whole pages (of 64 KiB at most). */
#define V1_NO_LIMIT ((UINT64_C(1) << 63) - 65536)

/* More CPUs than this are none that a kernel can have. */
#define CPU_NUMBER_MAX (UINT64_C(1) << 20)

/* --- lines of "name number" --------------------------------------------------------------------- */

typedef struct Key {
        const char *name;
        uint64_t value;
        bool found;
} Key;

static Key *find_key(Key *keys, size_t n_keys, const char *name, size_t n) {
        for (size_t i = 0; i < n_keys; i++)
                if (strlen(keys[i].name) == n && memcmp(keys[i].name, name, n) == 0)
                        return &keys[i];
        return NULL;
}

static int parse_keys(const char *text, Key *keys, size_t n_keys, const char **ret_fault) {
        while (*text) {
                size_t n = strcspn(text, " \n");
                Key *key = find_key(keys, n_keys, text, n);
                const char *end;

                if (key) {
                        end = text[n] == ' ' ? parse_next_u64(text + n, &key->value) : NULL;
                        if (!end || *end != '\n')
                                return text_malformed("a line without a number", ret_fault);
                        key->found = true;
                }

                text = text_next_line(text);
                if (!text)
                        return text_malformed("a line without an end", ret_fault);
        }
        return 0;
}

static bool found_all(const Key *keys, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!keys[i].found)
                        return false;
        return true;
}

/* --- single numbers ----------------------------------------------------------------------------- */

/* A number or "max", and then `end`. */
static const char *scan_limit(const char *p, char end, uint64_t *ret) {
        const char *past = text_skip(p, "max");

        if (past)
                *ret = CGROUP_NO_LIMIT;
        else
                past = parse_next_u64(p, ret);
        return past && *past == end ? past + 1 : NULL;
}

static int parse_number(const char *text, uint64_t *ret, const char **ret_fault) {
        uint64_t v;
        const char *p = parse_next_u64(text, &v);

        if (!p || *p != '\n')
                return text_malformed("no number", ret_fault);
        *ret = v;
        return 0;
}

static int parse_limit(const char *text, uint64_t *ret, const char **ret_fault) {
        uint64_t v;

        if (!scan_limit(text, '\n', &v))
                return text_malformed("no limit", ret_fault);
        *ret = v;
        return 0;
}

static int parse_v1_limit(const char *text, uint64_t *ret, const char **ret_fault) {
        uint64_t v = 0;
        int r;

        r = parse_number(text, &v, ret_fault);
        if (r == 0)
                *ret = v >= V1_NO_LIMIT ? CGROUP_NO_LIMIT : v;
        return r;
}

/* "-1": none. */
static int parse_v1_quota(const char *text, uint64_t *ret, const char **ret_fault) {
        if (strcmp(text, "-1\n") != 0)
                return parse_number(text, ret, ret_fault);

        *ret = CGROUP_NO_LIMIT;
        return 0;
}

int cgroup_parse_cpus(const char *text, uint32_t *ret, const char **ret_fault) {
        uint64_t n = 0;

        for (;; text++) {
                uint64_t first, last;

                text = parse_next_u64(text, &first);
                last = first;
                if (text && *text == '-')
                        text = parse_next_u64(text + 1, &last);
                if (!text || last < first || last > CPU_NUMBER_MAX)
                        return text_malformed("no list of CPUs", ret_fault);

                n += last - first + 1;
                if (n > CPU_NUMBER_MAX)
                        return text_malformed("too many CPUs", ret_fault);
                if (*text != ',')
                        break;
        }

        if (*text != '\n')
                return text_malformed("no list of CPUs", ret_fault);
        *ret = (uint32_t)n;
        return 0;
}

int cgroup_parse_populated(const char *text, bool *ret, const char **ret_fault) {
        Key key = { .name = "populated" };
        int r;

        r = parse_keys(text, &key, 1, ret_fault);
        if (r != 0)
                return r;
        if (!key.found)
                return text_malformed("no populated line", ret_fault);

        *ret = key.value != 0;
        return 0;
}

/* --- files of several numbers ------------------------------------------------------------------- */

/* Without the cpu controller there are no periods in it. */
static int parse_cpu_stat(const char *text, CgroupSample *ret, const char **ret_fault) {
        Key keys[] = {
                { "usage_usec", 0, false }, { "user_usec", 0, false },    { "system_usec", 0, false },
                { "nr_periods", 0, false }, { "nr_throttled", 0, false }, { "throttled_usec", 0, false },
        };
        int r;

        r = parse_keys(text, keys, 6, ret_fault);
        if (r != 0)
                return r;
        if (!found_all(keys, 3))
                return text_malformed("no CPU time", ret_fault);

        ret->usage_us = keys[0].value;
        ret->user_us = keys[1].value;
        ret->system_us = keys[2].value;
        ret->have |= 1U << CGROUP_CPU;
        if (!found_all(keys + 3, 3))
                return 0;

        ret->n_periods = keys[3].value;
        ret->n_throttled = keys[4].value;
        ret->throttled_us = keys[5].value;
        ret->have |= 1U << CGROUP_THROTTLING;
        return 0;
}

static int parse_v1_throttling(const char *text, CgroupSample *ret, const char **ret_fault) {
        Key keys[] = { { "nr_periods", 0, false }, { "nr_throttled", 0, false }, { "throttled_time", 0, false } };
        int r;

        r = parse_keys(text, keys, 3, ret_fault);
        if (r != 0)
                return r;
        if (!found_all(keys, 3))
                return text_malformed("no periods", ret_fault);

        ret->n_periods = keys[0].value;
        ret->n_throttled = keys[1].value;
        ret->throttled_us = keys[2].value / US_NS;
        return 0;
}

static int parse_v1_cpu_usage(const char *text, CgroupSample *ret, const char **ret_fault) {
        uint64_t ns = 0;
        int r;

        r = parse_number(text, &ns, ret_fault);
        if (r == 0)
                ret->usage_us = ns / US_NS;
        return r;
}

static int parse_v1_cpu_modes(const char *text, CgroupSample *ret, const char **ret_fault) {
        Key keys[] = { { "user", 0, false }, { "system", 0, false } };
        int r;

        r = parse_keys(text, keys, 2, ret_fault);
        if (r != 0)
                return r;
        if (!found_all(keys, 2))
                return text_malformed("no CPU time", ret_fault);

        ret->user_us = keys[0].value * TICK_US;
        ret->system_us = keys[1].value * TICK_US;
        return 0;
}

static int parse_cpu_max(const char *text, CgroupSample *ret, const char **ret_fault) {
        uint64_t quota, period;
        const char *p = scan_limit(text, ' ', &quota);

        p = p ? parse_next_u64(p, &period) : NULL;
        if (!p || *p != '\n' || period == 0)
                return text_malformed("no quota and period", ret_fault);

        ret->quota_us = quota;
        ret->period_us = period;
        return 0;
}

static int parse_memory_events(const char *text, CgroupSample *ret, const char **ret_fault) {
        Key keys[] = { { "high", 0, false }, { "max", 0, false }, { "oom", 0, false }, { "oom_kill", 0, false } };
        int r;

        r = parse_keys(text, keys, 4, ret_fault);
        if (r != 0)
                return r;
        if (!found_all(keys, 4))
                return text_malformed("an event is missing", ret_fault);

        ret->n_memory_high = keys[0].value;
        ret->n_memory_max = keys[1].value;
        ret->n_oom = keys[2].value;
        ret->n_oom_kill = keys[3].value;
        return 0;
}

/* From 4.13. v1 has no memory.high, so nothing was ever slowed down by it. */
static int parse_v1_oom(const char *text, CgroupSample *ret, const char **ret_fault) {
        Key key = { .name = "oom_kill" };
        int r;

        r = parse_keys(text, &key, 1, ret_fault);
        if (r != 0)
                return r;
        if (!key.found)
                return text_malformed("no oom_kill line", ret_fault);

        ret->n_memory_high = 0;
        ret->n_oom = ret->n_oom_kill = key.value;
        return 0;
}

static int had(int r, CgroupSample *ret, CgroupPart part) {
        if (r == 0)
                ret->have |= 1U << part;
        return r;
}

/* A table in the shape of a function. */
int cgroup_parse_file(CgroupFile file, const char *text, CgroupSample *ret, const char **ret_fault) {
        switch (file) {
        case CGROUP_FILE_CPU_STAT:
                return parse_cpu_stat(text, ret, ret_fault);
        case CGROUP_FILE_CPU_MAX:
                return had(parse_cpu_max(text, ret, ret_fault), ret, CGROUP_CPU_LIMIT);
        case CGROUP_FILE_CPUSET:
        case CGROUP_FILE_V1_CPUSET:
                return had(cgroup_parse_cpus(text, &ret->n_cpus, ret_fault), ret, CGROUP_CPUSET);
        case CGROUP_FILE_MEMORY_CURRENT:
        case CGROUP_FILE_V1_MEMORY:
                return had(parse_number(text, &ret->memory_bytes, ret_fault), ret, CGROUP_MEMORY);
        case CGROUP_FILE_MEMORY_PEAK:
        case CGROUP_FILE_V1_MEMORY_PEAK:
                return had(parse_number(text, &ret->memory_peak_bytes, ret_fault), ret, CGROUP_MEMORY_PEAK);
        case CGROUP_FILE_MEMORY_MAX:
                return had(parse_limit(text, &ret->memory_limit_bytes, ret_fault), ret, CGROUP_MEMORY_LIMIT);
        case CGROUP_FILE_V1_MEMORY_LIMIT:
                return had(parse_v1_limit(text, &ret->memory_limit_bytes, ret_fault), ret, CGROUP_MEMORY_LIMIT);
        case CGROUP_FILE_MEMORY_EVENTS:
                return had(parse_memory_events(text, ret, ret_fault), ret, CGROUP_MEMORY_EVENTS);
        case CGROUP_FILE_V1_OOM:
                return had(parse_v1_oom(text, ret, ret_fault), ret, CGROUP_MEMORY_EVENTS);
        case CGROUP_FILE_V1_FAILURES:
                return had(parse_number(text, &ret->n_memory_max, ret_fault), ret, CGROUP_MEMORY_EVENTS);
        case CGROUP_FILE_PIDS:
        case CGROUP_FILE_V1_PIDS:
                return had(parse_number(text, &ret->n_pids, ret_fault), ret, CGROUP_PIDS);
        case CGROUP_FILE_CPU_PRESSURE:
                return had(pressure_parse(text, &ret->psi_cpu_some_us, NULL, ret_fault), ret, CGROUP_PSI_CPU);
        case CGROUP_FILE_MEMORY_PRESSURE:
                return had(pressure_parse(text, &ret->psi_memory_some_us, &ret->psi_memory_full_us,
                                     ret_fault), ret, CGROUP_PSI_MEMORY);
        case CGROUP_FILE_IO_PRESSURE:
                return had(pressure_parse(text, &ret->psi_io_some_us, &ret->psi_io_full_us,
                                     ret_fault), ret, CGROUP_PSI_IO);
        case CGROUP_FILE_V1_CPU_USAGE:
                return had(parse_v1_cpu_usage(text, ret, ret_fault), ret, CGROUP_CPU);
        case CGROUP_FILE_V1_CPU_MODES:
                return had(parse_v1_cpu_modes(text, ret, ret_fault), ret, CGROUP_CPU);
        case CGROUP_FILE_V1_THROTTLING:
                return had(parse_v1_throttling(text, ret, ret_fault), ret, CGROUP_THROTTLING);
        case CGROUP_FILE_V1_QUOTA:
                return had(parse_v1_quota(text, &ret->quota_us, ret_fault), ret, CGROUP_CPU_LIMIT);
        case CGROUP_FILE_V1_PERIOD:
                return had(parse_number(text, &ret->period_us, ret_fault), ret, CGROUP_CPU_LIMIT);
        case CGROUP_FILE_IO_STAT:
        case CGROUP_FILE_V1_IO_BYTES:
        case CGROUP_FILE_V1_IO_COUNTS:
        case N_CGROUP_FILES:
                break;
        }
        return text_malformed("a file of disks", ret_fault);
}

/* --- disks -------------------------------------------------------------------------------------- */

/* "8:16". Past it, or NULL. */
static const char *scan_device(const char *p, CgroupIo *io) {
        p = *p >= '0' && *p <= '9' ? parse_next_u64(p, &io->major) : NULL;
        if (!p || *p != ':' || p[1] < '0' || p[1] > '9')
                return NULL;
        p = parse_next_u64(p + 1, &io->minor);
        return p && (*p == ' ' || *p == '\n') ? p : NULL;
}

/* "rbytes=1"; other names, of later kernels and other policies, are skipped with whatever they have. Past the word, or NULL. */
static const char *scan_io_word(const char *p, CgroupIo *io) {
        const struct {
                const char *name;
                uint64_t *value;
        } names[] = {
                { "rbytes=", &io->read_bytes }, { "wbytes=", &io->write_bytes },
                { "rios=", &io->reads },        { "wios=", &io->writes },
        };
        const char *end = p + strcspn(p, " \n");

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                size_t n = strlen(names[i].name);

                if (strncmp(p, names[i].name, n) == 0)
                        return p[n] != ' ' && parse_next_u64(p + n, names[i].value) == end ? end : NULL;
        }
        return end;
}

/* Kernels before 6.0 put idle devices in front of the next one, on its line: "8:16 8:0 rbytes=…". */
static int io_stat_next(const char **p, CgroupIo *ret, const char **ret_fault) {
        const char *at = scan_device(*p, ret);

        while (at && *(at = parse_blanks(at)) != '\n') {
                CgroupIo other = {};
                const char *past = scan_device(at, &other);

                if (past)
                        *ret = other;
                at = past ? past : *at ? scan_io_word(at, ret) : NULL;
        }
        if (!at)
                return text_malformed("a line that is not of a device", ret_fault);

        *p = at + 1;
        return 0;
}

/* "8:0 Read 4096", or the sum over devices, "Total 4096". Returns the start of the next line, or NULL. */
static const char *scan_blkio_line(const char *p, CgroupIo *io, const char **ret_operation, uint64_t *ret) {
        const char *at = scan_device(p, io);

        *ret_operation = parse_blanks(at ? at : p);
        at = at || strncmp(p, "Total ", 6) == 0 ? parse_next_u64(*ret_operation + strcspn(*ret_operation, " \n"), ret) : NULL;
        return at && *at == '\n' ? at + 1 : NULL;
}

/* Sync, Async, Discard and Total are counted among reads and writes, or neither. */
static int blkio_next(CgroupFile file, const char **p, CgroupIo *ret, const char **ret_fault) {
        while (**p) {
                const char *operation;
                uint64_t v;

                *p = scan_blkio_line(*p, ret, &operation, &v);
                if (!*p)
                        return text_malformed("a line that is not of a device", ret_fault);

                if (strncmp(operation, "Read ", 5) == 0)
                        *(file == CGROUP_FILE_V1_IO_BYTES ? &ret->read_bytes : &ret->reads) = v;
                else if (strncmp(operation, "Write ", 6) == 0)
                        *(file == CGROUP_FILE_V1_IO_BYTES ? &ret->write_bytes : &ret->writes) = v;
                else
                        continue;
                return 0;
        }
        return CGROUP_TEXT_END;
}

int cgroup_parse_next_io(CgroupFile file, const char **p, CgroupIo *ret, const char **ret_fault) {
        CgroupIo io = {};
        int r;

        if (!**p)
                return CGROUP_TEXT_END;

        r = file == CGROUP_FILE_IO_STAT ? io_stat_next(p, &io, ret_fault) : blkio_next(file, p, &io, ret_fault);
        if (r == 0)
                *ret = io;
        return r;
}

/* --- proc/PID/cgroup ---------------------------------------------------------------------------- */

int cgroup_parse_next_line(const char **p, CgroupLine *ret, const char **ret_fault) {
        const char *controllers, *path, *end;
        uint64_t id;

        if (!**p)
                return CGROUP_TEXT_END;

        end = strchr(*p, '\n');
        controllers = parse_next_u64(*p, &id);
        path = end && controllers && *controllers == ':' ? memchr(controllers + 1, ':', (size_t)(end - controllers - 1)) : NULL;
        if (!path)
                return text_malformed("a line that is not of a hierarchy", ret_fault);

        *ret = (CgroupLine){
                .controllers = controllers + 1,
                .n_controllers = (size_t)(path - controllers - 1),
                .path = path + 1,
                .n_path = (size_t)(end - path - 1),
        };
        *p = end + 1;
        return 0;
}
