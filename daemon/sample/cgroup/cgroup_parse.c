/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/cgroup/cgroup_parse.h"

#include "measure/sample.h"
#include "sample/pressure.h"
#include "sample/kernel_text.h"
#include "util/scan.h"
#include "util/scoped.h"

/* v1 counts CPU time by mode in clock ticks (USER_HZ). */
#define TICK_US (1000000 / TICKS_PER_S)
#define US_NS 1000

/* "No limit" in v1: the maximum of a signed 64-bit number, rounded down to whole pages of at most 64 KiB. */
#define V1_NO_LIMIT ((UINT64_C(1) << 63) - 65536)

/* Higher CPU numbers are malformed: no kernel supports as many. */
#define CPU_NUMBER_MAX (UINT64_C(1) << 20)

static uint64_t *value_at(CgroupSample *sample, size_t offset) {
        return (uint64_t *)(void *)((char *)sample + offset);
}

/* --- "name number" lines ------------------------------------------------------------------------ */

typedef struct Key {
        const char *name;
        size_t n_name; /* most lines differ in the length of the key */
        size_t offset; /* offset of a uint64_t in CgroupSample */
        CgroupPart part;
        uint64_t factor, divisor;
} Key;

#define KEY_SCALED(name, member, part, factor, divisor) \
        { name, sizeof(name) - 1, offsetof(CgroupSample, member), CGROUP_##part, factor, divisor }
#define KEY(name, member, part) KEY_SCALED(name, member, part, 1, 1)

/* There are no periods without the cpu controller. */
static const Key cpu_stat[] = {
        KEY("usage_usec", usage_us, CPU),
        KEY("user_usec", user_us, CPU),
        KEY("system_usec", system_us, CPU),
        KEY("nr_periods", n_periods, THROTTLING),
        KEY("nr_throttled", n_throttled, THROTTLING),
        KEY("throttled_usec", throttled_us, THROTTLING),
};

static const Key cpu_stat_local[] = {
        KEY("throttled_usec", throttled_local_us, THROTTLING_LOCAL),
};

static const Key memory_events[] = {
        KEY("high", n_memory_high, MEMORY_EVENTS),
        KEY("max", n_memory_max, MEMORY_EVENTS),
        KEY("oom", n_oom, MEMORY_EVENTS),
        KEY("oom_kill", n_oom_kill, MEMORY_EVENTS),
};

static const Key memory_stat[] = {
        KEY("anon", anon_bytes, MEMORY_STAT),
        KEY("file", file_bytes, MEMORY_STAT),
        KEY("kernel", kernel_bytes, MEMORY_KERNEL),
        KEY("shmem", shmem_bytes, MEMORY_STAT),
};

static const Key v1_memory_stat[] = {
        KEY("total_cache", file_bytes, MEMORY_STAT),
        KEY("total_rss", anon_bytes, MEMORY_STAT),
        KEY("total_shmem", shmem_bytes, MEMORY_STAT),
};

static const Key v1_throttling[] = {
        KEY("nr_periods", n_periods, THROTTLING),
        KEY("nr_throttled", n_throttled, THROTTLING),
        KEY_SCALED("throttled_time", throttled_us, THROTTLING, 1, US_NS),
};

static const Key v1_cpu_modes[] = {
        KEY_SCALED("user", user_us, CPU, TICK_US, 1),
        KEY_SCALED("system", system_us, CPU, TICK_US, 1),
};

/* Since 4.13. v1 has no memory.high, so the number of its events is 0. */
static const Key v1_oom[] = {
        KEY("oom_kill", n_oom, MEMORY_EVENTS),
        KEY("oom_kill", n_oom_kill, MEMORY_EVENTS),
};

/*
 * Parses a line, and adds the bits of its keys to *found. A line with an unknown key is ignored. Returns false if a
 * known key has no valid number.
 */
static bool parse_line(const char *line, const Key *keys, size_t n_keys, CgroupSample *ret, uint32_t *found) {
        size_t n = strcspn(line, " \n");

        for (size_t i = 0; i < n_keys; i++) {
                const char *end;
                uint64_t v;

                if (keys[i].n_name != n || memcmp(keys[i].name, line, n) != 0)
                        continue;
                end = line[n] == ' ' ? scan_u64(line + n, &v) : NULL;
                if (!end || *end != '\n')
                        return false;
                v *= keys[i].factor;
                *value_at(ret, keys[i].offset) = keys[i].divisor > 1 ? v / keys[i].divisor : v;
                *found |= 1U << i;
                if (i + 1 < n_keys && keys[i + 1].n_name != n)
                        break; /* equal keys are neighbours */
        }
        return true;
}

/*
 * A part is present if all of its keys are. Returns false if the part of the first key is missing, or a line is
 * malformed.
 */
static bool parse_keys(const char *text, const Key *keys, size_t n_keys, CgroupSample *ret) {
        uint32_t found = 0, parts = 0, lacking = 0;

        for (; text && *text; text = kernel_text_next_line(text))
                if (!parse_line(text, keys, n_keys, ret, &found))
                        return false;

        for (size_t i = 0; i < n_keys; i++)
                *(found & (1U << i) ? &parts : &lacking) |= 1U << keys[i].part;
        ret->have |= parts & ~lacking;
        return text && parts & ~lacking & (1U << keys[0].part);
}

bool cgroup_parse_populated(const char *text) {
        static const char key[] = "populated ";
        uint64_t v;

        while (text && strncmp(text, key, strlen(key)) != 0)
                text = kernel_text_next_line(text);
        return !text || !scan_u64(text + strlen(key), &v) || v != 0;
}

/* --- other files -------------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *ret) {
        const char *p = scan_u64(text, ret);

        return p && *p == '\n';
}

/* Parses a number or "no limit" ("max" in v2, a very large number in v1), followed by `end`. */
static const char *scan_limit(const char *p, char end, uint64_t *ret) {
        const char *past = kernel_text_skip(p, "max");

        *ret = CGROUP_NO_LIMIT;
        if (!past)
                past = scan_u64(p, ret);
        if (*ret >= V1_NO_LIMIT)
                *ret = CGROUP_NO_LIMIT;
        return past && *past == end ? past + 1 : NULL;
}

static bool parse_cpu_max(const char *text, CgroupSample *ret) {
        const char *p = scan_limit(text, ' ', &ret->quota_us);

        return p && parse_number(p, &ret->period_us) && ret->period_us > 0;
}

/* Counts the CPUs of a list such as "0-3,8". */
static bool parse_cpus(const char *text, uint32_t *ret) {
        uint64_t n = 0;

        for (;; text++) {
                uint64_t first, last;

                text = scan_u64(text, &first);
                last = first;
                if (text && *text == '-')
                        text = scan_u64(text + 1, &last);
                if (!text || last < first || last > CPU_NUMBER_MAX)
                        return false;

                n += last - first + 1;
                if (*text != ',' || n > CPU_NUMBER_MAX)
                        break;
        }

        *ret = (uint32_t)n;
        return *text == '\n' && n <= CPU_NUMBER_MAX;
}

typedef enum Form {
        FORM_NONE, /* files of disks, read line by line */
        FORM_KEYS,
        FORM_NUMBER,
        FORM_NANOSECONDS,
        FORM_LIMIT,
        FORM_QUOTA, /* v1: -1 means no limit */
        FORM_CPU_MAX,
        FORM_CPUS,
        FORM_PRESSURE,
        FORM_PRESSURE_FULL, /* no "some" line: an interrupt delays every task of the CPU */
} Form;

static const struct {
        CgroupPart part;
        Form form;
        size_t offset, full_offset; /* offset of the value; full_offset: of the total in a pressure file's "full"
                                     * line, 0 if not read */
        const Key *keys;
        size_t n_keys;
} files[N_CGROUP_FILES] = {
#define KEYS(keys) FORM_KEYS, 0, 0, keys, N_ELEMENTS(keys)
#define VALUE(form, member) FORM_##form, offsetof(CgroupSample, member), 0, NULL, 0
#define PRESSURE(some, full_offset) FORM_PRESSURE, offsetof(CgroupSample, some), full_offset, NULL, 0
#define OTHER(form) FORM_##form, 0, 0, NULL, 0
#define X(file, hierarchy, part, is_often, name, other_name, ...) [CGROUP_FILE_##file] = { CGROUP_##part, __VA_ARGS__ },
        CGROUP_FILES(X)
#undef X
};

static bool parse_form(CgroupFile file, const char *text, CgroupSample *ret) {
        uint64_t *value = value_at(ret, files[file].offset);
        size_t full_offset = files[file].full_offset;
        const char *fault;
        bool is_number;

        switch (files[file].form) {
        case FORM_NONE:
                return false;
        case FORM_KEYS:
                return parse_keys(text, files[file].keys, files[file].n_keys, ret);
        case FORM_NUMBER:
                return parse_number(text, value);
        case FORM_NANOSECONDS:
                is_number = parse_number(text, value);
                *value /= US_NS;
                return is_number;
        case FORM_LIMIT:
                return scan_limit(text, '\n', value);
        case FORM_QUOTA:
                return scan_limit(strcmp(text, "-1\n") == 0 ? "max\n" : text, '\n', value);
        case FORM_CPU_MAX:
                return parse_cpu_max(text, ret);
        case FORM_CPUS:
                return parse_cpus(text, &ret->n_cpus);
        case FORM_PRESSURE:
                return pressure_parse(text, value, full_offset ? value_at(ret, full_offset) : NULL, &fault) == 0;
        case FORM_PRESSURE_FULL:
                return pressure_parse(text, NULL, value, &fault) == 0;
        }
        return false;
}

int cgroup_parse_file(CgroupFile file, const char *text, CgroupSample *ret) {
        CgroupSample sample = *ret;

        if (!parse_form(file, text, &sample))
                return TEXT_MALFORMED;

        sample.have |= 1U << files[file].part;
        *ret = sample;
        return 0;
}

/* --- disks -------------------------------------------------------------------------------------- */

/* Parses "8:16". Returns the position after it, or NULL. */
static const char *scan_device(const char *p, CgroupIo *io) {
        p = *p >= '0' && *p <= '9' ? scan_u64(p, &io->major) : NULL;
        if (!p || *p != ':' || p[1] < '0' || p[1] > '9')
                return NULL;
        p = scan_u64(p + 1, &io->minor);
        return p && (*p == ' ' || *p == '\n') ? p : NULL;
}

/*
 * Parses "rbytes=1". Other names, of later kernels and other policies, are skipped with their values. Returns the
 * position after the word, or NULL.
 */
static const char *scan_io_word(const char *p, CgroupIo *io) {
        const struct {
                const char *name;
                uint64_t *value;
        } names[] = {
                { "rbytes=", &io->read_bytes }, { "wbytes=", &io->write_bytes },
                { "rios=", &io->reads },        { "wios=", &io->writes },
        };
        const char *end = p + strcspn(p, " \n");

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                size_t n = strlen(names[i].name);

                if (strncmp(p, names[i].name, n) == 0)
                        return p[n] != ' ' && scan_u64(p + n, names[i].value) == end ? end : NULL;
        }
        return end;
}

/* Before Linux 6.0, idle devices are on the line of the next device: "8:16 8:0 rbytes=…". */
static int io_stat_next(const char **p, CgroupIo *ret) {
        const char *at = scan_device(*p, ret);

        while (at && *(at = scan_blanks(at)) != '\n') {
                CgroupIo other = {};
                const char *past = scan_device(at, &other);

                if (past)
                        *ret = other;
                at = past ? past : *at ? scan_io_word(at, ret) : NULL;
        }
        if (!at)
                return CGROUP_TEXT_MALFORMED;

        *p = at + 1;
        return 0;
}

/*
 * Parses "8:0 Read 4096", or the total over all devices, "Total 4096". Returns the start of the next line, or NULL.
 */
static const char *scan_blkio_line(const char *p, CgroupIo *io, const char **ret_operation, uint64_t *ret) {
        const char *at = scan_device(p, io);

        *ret_operation = scan_blanks(at ? at : p);
        at = at || strncmp(p, "Total ", 6) == 0 ? scan_u64(*ret_operation + strcspn(*ret_operation, " \n"), ret) : NULL;
        return at && *at == '\n' ? at + 1 : NULL;
}

/* Sync, Async, Discard and Total are skipped: they are included in reads and writes, or in neither. */
static int blkio_next(CgroupFile file, const char **p, CgroupIo *ret) {
        while (**p) {
                const char *operation;
                uint64_t v;

                const char *past = scan_blkio_line(*p, ret, &operation, &v);

                if (!past)
                        return CGROUP_TEXT_MALFORMED;
                *p = past;

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

int cgroup_parse_next_io(CgroupFile file, const char **p, CgroupIo *ret) {
        const char *line = *p;
        CgroupIo io = {};
        int r;

        if (!**p)
                return CGROUP_TEXT_END;

        r = file == CGROUP_FILE_IO_STAT ? io_stat_next(p, &io) : blkio_next(file, p, &io);
        if (r == 0)
                *ret = io;
        if (r == CGROUP_TEXT_MALFORMED)
                *p = kernel_text_next_line(line) ?: line + strlen(line);
        return r;
}

/* --- proc/PID/cgroup ---------------------------------------------------------------------------- */

int cgroup_parse_next_line(const char **p, CgroupLine *ret) {
        const char *controllers, *path, *end;
        uint64_t id;

        if (!**p)
                return CGROUP_TEXT_END;

        end = strchr(*p, '\n');
        controllers = scan_u64(*p, &id);
        path = end && controllers && *controllers == ':' ? memchr(controllers + 1, ':', (size_t)(end - controllers - 1))
                                                         : NULL;
        if (!path)
                return CGROUP_TEXT_MALFORMED;

        *ret = (CgroupLine){
                .controllers = controllers + 1,
                .n_controllers = (size_t)(path - controllers - 1),
                .path = path + 1,
                .n_path = (size_t)(end - path - 1),
        };
        *p = end + 1;
        return 0;
}
