/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/amun_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/cgroup/quantity.h"
#include "util/clock.h"
#include "util/utf8.h"

static const Value *get(const AmunPlace *place, const char *key) {
        return value_get(place->part, key) ?: value_get(place->document, key);
}

const char *amun_run_text(const AmunPlace *place, const char *key) {
        return value_get_string(place->part, key) ?: value_get_string(place->document, key);
}

const char *amun_run_origin(const AmunPlace *place) {
        return value_get_string(place->specification, "script");
}

/* --- times ---------------------------------------------------------------------------------------- */

static int read_time(const AmunPlace *place, const char *key, uint64_t *ret_ns, Complaint *complaint) {
        const char *text = amun_run_text(place, key);

        if (!text)
                return 0;
        if (clock_parse_utc(text, ret_ns) != 0)
                return indicator_complain(complaint, key, "'%.*s' is not a time: expected 2020-08-18T16:33:32.052043",
                                          (int)utf8_cut(text, 60),
                                          text);
        if (*ret_ns > INT64_MAX)
                return indicator_complain(complaint, key, "'%.*s' is after the year 2261", (int)utf8_cut(text, 60), text);
        return 0;
}

/* *ret_end_ns: 0 if the end is unknown. */
static int put_times(const AmunPlace *place, ObjectBuilder *run, uint64_t *ret_end_ns, Complaint *complaint) {
        uint64_t begin_ns = 0, end_ns = 0;
        int r;

        r = read_time(place, "start_datetime", &begin_ns, complaint);
        if (r == 0)
                r = read_time(place, "end_datetime", &end_ns, complaint);
        if (r == 0 && end_ns == 0)
                r = read_time(place, "datetime", &end_ns, complaint);
        if (r != 0)
                return r;

        object_builder_put_time(run, "begin", begin_ns);
        object_builder_put_time(run, "end", end_ns);
        if (begin_ns > 0 && end_ns >= begin_ns)
                object_builder_put_double(run, "wall_seconds", (double)(end_ns - begin_ns) / 1e9);
        *ret_end_ns = end_ns;
        return 0;
}

/* --- usage and output ----------------------------------------------------------------------------- */

static void put_rusage(const Value *usage, ObjectBuilder *run) {
        ObjectBuilder rusage;
        double seconds;
        int64_t v;

        object_builder_init(&rusage, run->arena, 16);
        if (value_get_double(usage, "ru_utime", &seconds))
                object_builder_put_double(&rusage, "ru_utime", seconds);
        if (value_get_double(usage, "ru_stime", &seconds))
                object_builder_put_double(&rusage, "ru_stime", seconds);
#define X(field)                                        \
        if (value_get_int(usage, #field, &v))           \
                object_builder_put_int(&rusage, #field, v);
        RUSAGE_FIELDS(X)
#undef X
        object_builder_put_object(run, "rusage", &rusage);
}

/* Keeps the end of a long text, which is more useful than its beginning. */
static void put_stderr(const char *text, ObjectBuilder *run) {
        size_t n = text ? strlen(text) : 0;
        bool is_cut = n > STRING_MAX_BYTES;

        if (n == 0)
                return;
        if (is_cut)
                text += n - STRING_MAX_BYTES;
        while (is_cut && ((unsigned char)*text & 0xc0) == 0x80) /* skip the rest of a character that was cut */
                text++;

        object_builder_put_text(run, "stderr", text);
        object_builder_put_bool(run, "stderr_cut", is_cut);
}

static void put_script(const AmunPlace *place, ObjectBuilder *run) {
        const char *origin = amun_run_origin(place);
        ObjectBuilder script;

        object_builder_init(&script, run->arena, 3);
        object_builder_put_text(&script, "sha256", amun_run_text(place, "script_sha256"));
        if (origin) {
                size_t n = utf8_cut(origin, STRING_MAX_BYTES);

                object_builder_put_text_n(&script, "origin", origin, n);
                if (origin[n])
                        object_builder_put_bool(&script, "origin_cut", true);
        }
        object_builder_put_object(run, "script", &script);
}

/* --- host ----------------------------------------------------------------------------------------- */

static void copy_text(const Value *object, const char *key, char *ret, size_t n_ret) {
        const char *text = value_get_string(object, key);

        if (text)
                cpu_facts_copy(ret, n_ret, text, strlen(text));
}

static void copy_int(const Value *object, const char *key, int *ret) {
        int64_t v;

        if (value_get_int(object, key, &v) && v >= 0 && v <= INT_MAX)
                *ret = (int)v;
}

static void copy_bytes(const Value *object, const char *key, uint64_t *ret) {
        int64_t v;

        if (value_get_int(object, key, &v) && v > 0)
                *ret = (uint64_t)v;
}

static void read_flags(const Value *list, CpuFacts *cpu) {
        for (size_t i = 0; list && list->type == VALUE_LIST && i < list->n_items; i++)
                if (list->items[i].type == VALUE_STRING)
                        cpu_facts_add_flag(cpu, list->items[i].string, strlen(list->items[i].string));
}

/* Reads py-cpuinfo's keys, with and without the suffix _raw added in its version 6. */
static void read_cpu(const Value *hwinfo, CpuFacts *cpu) {
        const Value *info = value_get(hwinfo, "cpu_info"), *features = value_get(hwinfo, "cpu_features");
        int count = 0;

        copy_text(info, "brand", cpu->model, sizeof(cpu->model));
        copy_text(info, "brand_raw", cpu->model, sizeof(cpu->model));
        copy_text(info, "vendor_id", cpu->vendor, sizeof(cpu->vendor));
        copy_text(info, "vendor_id_raw", cpu->vendor, sizeof(cpu->vendor));
        copy_int(info, "family", &cpu->family);
        copy_int(info, "model", &cpu->model_number);
        copy_int(info, "stepping", &cpu->stepping);
        copy_int(info, "count", &count);
        cpu->threads = (unsigned)count;
        read_flags(value_get(features, "flags"), cpu);
        copy_bytes(features, "l1_data_cache_size", &cpu->l1d_bytes);
        copy_bytes(features, "l1_instruction_cache_size", &cpu->l1i_bytes);
        copy_bytes(features, "l2_cache_size", &cpu->l2_bytes);
        copy_bytes(features, "l3_cache_size", &cpu->l3_bytes);
}

static void put_host(const AmunPlace *place, ObjectBuilder *run) {
        const Value *hwinfo = get(place, "hwinfo") ?: place->hwinfo;
        const Value *release = get(place, "os_release"), *runtime = get(place, "runtime_environment");
        HostFacts facts;

        host_facts_init(&facts);
        copy_text(value_get(hwinfo, "platform"), "node", facts.hostname, sizeof(facts.hostname));
        copy_text(place->document, "hostname", facts.hostname, sizeof(facts.hostname));
        copy_text(place->part, "hostname", facts.hostname, sizeof(facts.hostname));
        copy_int(value_get(runtime, "hardware"), "cpu_family", &facts.cpu.family);
        copy_int(value_get(runtime, "hardware"), "cpu_model", &facts.cpu.model_number);
        read_cpu(hwinfo, &facts.cpu);
        copy_text(value_get(hwinfo, "platform"), "release", facts.kernel, sizeof(facts.kernel));
        copy_text(value_get(runtime, "operating_system"), "name", facts.os_id, sizeof(facts.os_id));
        copy_text(value_get(runtime, "operating_system"), "version", facts.os_version, sizeof(facts.os_version));
        copy_text(release, "id", facts.os_id, sizeof(facts.os_id));
        copy_text(release, "version_id", facts.os_version, sizeof(facts.os_version));
        copy_text(release, "name", facts.os_name, sizeof(facts.os_name));
        host_facts_put(&facts, run);
}

static void put_runtime(const AmunPlace *place, ObjectBuilder *run) {
        const Value *from = get(place, "runtime_environment");
        ObjectBuilder runtime;

        object_builder_init(&runtime, run->arena, 2);
        object_builder_put_text(&runtime, "python", value_get_string(from, "python_version"));
        object_builder_put_text(&runtime, "cuda", value_get_string(from, "cuda_version"));
        object_builder_put_object(run, "runtime", &runtime);
}

/* --- specification -------------------------------------------------------------------------------- */

/* A quantity that cannot be parsed is copied unchanged. */
static void put_requests(const Value *requests, const char *key, ObjectBuilder *specification) {
        const Value *cpu = value_get(requests, "cpu"), *memory = value_get(requests, "memory");
        uint64_t bytes;
        ObjectBuilder object;
        double cpus;

        object_builder_init(&object, specification->arena, 3);
        if (cpu && quantity_read(cpu, &cpus))
                object_builder_put_double(&object, "cpus", cpus);
        else
                object_builder_put(&object, "cpus", cpu);
        if (memory && quantity_read_bytes(memory, &bytes))
                object_builder_put_int(&object, "memory_bytes", (int64_t)bytes);
        else
                object_builder_put(&object, "memory_bytes", memory);
        object_builder_put(&object, "hardware", value_get(requests, "hardware"));
        object_builder_put_object(specification, key, &object);
}

/* Returns true if a later variable has the same name: the last one wins, as in a pod. */
static bool is_given_later(const Value *list, size_t i, const char *name) {
        for (i++; i < list->n_items; i++) {
                const char *other = value_get_string(&list->items[i], "name");

                if (other && strcmp(other, name) == 0)
                        return true;
        }
        return false;
}

#define ENVIRONMENT_MAX 4096U /* variables of a specification that are kept */

static void put_environment(const Value *list, ObjectBuilder *run) {
        ObjectBuilder environment;

        if (!list || list->type != VALUE_LIST || list->n_items > ENVIRONMENT_MAX)
                return;

        object_builder_init(&environment, run->arena, list->n_items);
        for (size_t i = 0; i < list->n_items; i++) {
                const char *name = value_get_string(&list->items[i], "name");

                if (name && name[0] && !is_given_later(list, i, name))
                        object_builder_put(&environment, name, value_get(&list->items[i], "value"));
        }
        object_builder_put_object(run, "environment", &environment);
}

static void put_specification(const AmunPlace *place, ObjectBuilder *run) {
        const Value *from = place->specification;
        ObjectBuilder specification;

        object_builder_put_text(run, "inspection", place->inspection);
        object_builder_init(&specification, run->arena, 5);
        object_builder_put_text(&specification, "identifier", value_get_string(from, "identifier"));
        object_builder_put_text(&specification, "base", value_get_string(from, "base"));
        object_builder_put(&specification, "batch_size", value_get(from, "batch_size"));
        put_requests(value_get(value_get(from, "run"), "requests"), "run", &specification);
        put_requests(value_get(value_get(from, "build"), "requests"), "build", &specification);
        object_builder_put_object(run, "specification", &specification);
        put_environment(value_get(from, "environment"), run);
}

#define RUN_MEMBERS_MAX 14U

int amun_run_make(const AmunPlace *place, Arena *arena, Submission *ret, Complaint *ret_complaint) {
        Value *value = arena_alloc(arena, sizeof(*value));
        ObjectBuilder run;
        uint64_t end_ns = 0;
        int r;

        object_builder_init(&run, arena, RUN_MEMBERS_MAX);
        put_rusage(get(place, "usage"), &run);
        put_stderr(amun_run_text(place, "stderr"), &run);
        put_script(place, &run);
        r = put_times(place, &run, &end_ns, ret_complaint);
        if (r != 0)
                return r;
        put_host(place, &run);
        put_runtime(place, &run);
        put_specification(place, &run);
        if (!value || object_builder_end(&run, value) < 0)
                return -ENOMEM;

        r = indicator_check_object(value, DOCUMENT_LIMITS_NONE, ret_complaint);
        if (r != 0)
                return r;
        ret->run = value;
        ret->time_ms = end_ns / NS_PER_MS;
        return 0;
}
