/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/amun.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "client/cgroup/quantity.h"
#include "client/facts/build_info.h"
#include "client/facts/host_facts.h"
#include "client/facts/object_builder.h"
#include "client/run/capture.h"
#include "client/stack/lock_file.h"
#include "stack/stack.h"
#include "util/clock.h"
#include "util/nearest.h"
#include "util/utf8.h"
#include "value/value_parse.h"

/* Two objects that may contain the members of a run: the part with its stdout, and the whole document. */
typedef struct AmunPlace {
        const Value *document, *part;
        const Value *specification, *hwinfo; /* from separate files; may be NULL */
        const char *inspection;              /* may be NULL */
} AmunPlace;

#define AMUN_RUN_ARENA_BYTES (4 * STRING_MAX_BYTES + HOST_FACTS_ARENA_BYTES)

static const Value *get(const AmunPlace *place, const char *key) {
        return value_get(place->part, key) ?: value_get(place->document, key);
}

/* Returns the string with this key in either place; NULL if there is none. */
static const char *get_text(const AmunPlace *place, const char *key) {
        return value_get_string(place->part, key) ?: value_get_string(place->document, key);
}

/* Returns the script's URL or its text; NULL if unknown. */
static const char *get_origin(const AmunPlace *place) {
        return value_get_string(place->specification, "script");
}

/* --- times ---------------------------------------------------------------------------------------- */

static int read_time(const AmunPlace *place, const char *key, uint64_t *ret_ns, Complaint *complaint) {
        const char *text = get_text(place, key);

        if (!text)
                return 0;
        if (clock_parse_utc(text, ret_ns) != 0)
                return indicator_complain(complaint, key, "'%.*s' is not a time: expected 2020-08-18T16:33:32.052043",
                                          (int)utf8_cut(text, 60),
                                          text);
        if (*ret_ns > INT64_MAX)
                return indicator_complain(complaint, key, "'%.*s' is after the year 2261", (int)utf8_cut(text, 60),
                                          text);
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
        if (value_get_int(usage, "ru_" #field, &v))     \
                object_builder_put_int(&rusage, "ru_" #field, v);
        RUSAGE_COUNTS(X)
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
        const char *origin = get_origin(place);
        ObjectBuilder script;

        object_builder_init(&script, run->arena, 3);
        object_builder_put_text(&script, "sha256", get_text(place, "script_sha256"));
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
                host_facts_copy(ret, n_ret, text, strlen(text));
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
                        host_facts_add_flag(cpu, list->items[i].string, strlen(list->items[i].string));
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

/* Sets run and time_ms of a submission, as in perfd-protocol(7), run. Returns 0, INDICATOR_INVALID, or -ENOMEM. */
static int make_run(const AmunPlace *place, Arena *arena, Submission *ret, Complaint *ret_complaint) {
        Value *value = arena_alloc(arena, sizeof(*value));
        ObjectBuilder run;
        uint64_t end_ns = 0;
        int r;

        object_builder_init(&run, arena, RUN_MEMBERS_MAX);
        put_rusage(get(place, "usage"), &run);
        put_stderr(get_text(place, "stderr"), &run);
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

/* --- software stack ------------------------------------------------------------------------------ */

/* From the specification of the inspection and the facts that the run recorded. */

static void put_version(ObjectBuilder *stack, const char *key, const char *name, const char *version) {
        ObjectBuilder object;

        object_builder_init(&object, stack->arena, 2);
        object_builder_put_text(&object, "name", name);
        object_builder_put_text(&object, "version", version);
        object_builder_put_object(stack, key, &object);
}

/* A lock file has exact versions: ==1.18.5. */
static const char *exact_version(const char *version) {
        return version && strncmp(version, "==", 2) == 0 ? version + strspn(version, "=") : version;
}

/* printed: by the script, with its build information. */
static int put_locked(const Member *member, const Value *sources, const Value *printed, Arena *arena, Value *ret) {
        scoped(buffer_deinit) Buffer build = {};
        const Value *locked = &member->value;
        ObjectBuilder package;

        object_builder_init(&package, arena, 6);
        object_builder_put_text(&package, "name", member->key);
        object_builder_put_text(&package, "kind", STACK_KIND_PYTHON);
        object_builder_put_text(&package, "version", exact_version(value_get_string(locked, "version")));
        object_builder_put_text(&package, "source", lock_file_find_source(sources, value_get_string(locked, "index")));
        object_builder_put(&package, "hashes", value_get(locked, "hashes"));
        build_info_put(printed, member->key, &build);
        if (buffer_error(&build) < 0)
                return -ENOMEM;
        object_builder_put_text(&package, "build", build.n > 0 ? build.text : NULL);
        return object_builder_end(&package, ret);
}

static int put_native(const char *name, Arena *arena, Value *ret) {
        ObjectBuilder package;

        object_builder_init(&package, arena, 2);
        object_builder_put_text(&package, "name", name);
        object_builder_put_text(&package, "kind", "native");
        return object_builder_end(&package, ret);
}

static int list_packages(const AmunPlace *place, const Value *printed, Arena *arena, Value *ret) {
        const Value *lock = value_get(value_get(place->specification, "python"), "requirements_locked");
        const Value *locked = value_get(lock, "default"), *native = value_get(place->specification, "packages");
        const Value *sources = value_get(value_get(lock, "_meta"), "sources");
        size_t n_locked = locked && locked->type == VALUE_OBJECT ? locked->n_members : 0;
        size_t n_native = native && native->type == VALUE_LIST ? native->n_items : 0, n = 0;
        Value *items = arena_alloc(arena, (n_locked + n_native + 1) * sizeof(*items));
        int r = items ? 0 : -ENOMEM;

        for (size_t i = 0; i < n_locked && r == 0; i++)
                r = put_locked(&locked->members[i], sources, printed, arena, &items[n++]);
        for (size_t i = 0; i < n_native && r == 0; i++)
                if (native->items[i].type == VALUE_STRING)
                        r = put_native(native->items[i].string, arena, &items[n++]);
        if (r == 0)
                *ret = (Value){ .type = VALUE_LIST, .items = items, .n_items = n };
        return r;
}

/* Sets the stack of a submission, unless nothing is known. 0 or -ENOMEM. */
static int make_stack(const AmunPlace *place, Arena *arena, Submission *ret) {
        const Value *runtime = get(place, "runtime_environment"), *os = value_get(runtime, "operating_system");
        SubmissionStack *stack = arena_alloc(arena, sizeof(*stack));
        Value *document = arena_alloc(arena, sizeof(*document)), *packages = arena_alloc(arena, sizeof(*packages));
        ObjectBuilder object;
        int r;

        if (!stack || !document || !packages)
                return -ENOMEM;
        r = list_packages(place, ret->indicator.document, arena, packages);
        if (r < 0)
                return r;

        object_builder_init(&object, arena, 5);
        object_builder_put_text(&object, "base_image", value_get_string(place->specification, "base"));
        object_builder_put_text(&object, "package_manager", value_get_string(place->specification, "package_manager"));
        put_version(&object, "os", value_get_string(os, "name"), value_get_string(os, "version"));
        put_version(&object, "python", NULL, value_get_string(runtime, "python_version"));
        if (packages->n_items > 0)
                object_builder_put(&object, "packages", packages);
        r = object_builder_end(&object, document);
        if (r < 0)
                return r;

        stack->document = document;
        ret->stack = document->n_members > 0 ? stack : NULL;
        return 0;
}

/* --- parts of a document ------------------------------------------------------------------------- */

/* The part of a document with the output and exit code of a run, and the path of its stdout for messages. */
typedef struct AmunPart {
        const Value *value;
        const char *stdout_path;
        bool is_top; /* the script's members and the runner's are both at the top level */
} AmunPart;

/* Returns true for members that the runner adds, where they are next to the script's at the top level. */
static bool is_runner_key(const char *key) {
        static const char *const keys[] = {
                "hwinfo",   "stdout",         "stderr",       "exit_code",  "script_sha256",       "usage",
                "datetime", "start_datetime", "end_datetime", "os_release", "runtime_environment", "hostname"
        };

        return nearest_is_among(key, keys, N_ELEMENTS(keys));
}

/* A script may print some of the runner's keys, such as `hostname`, but is unlikely to print these three. */
static bool is_top_level(const Value *document) {
        const Value *exit_code = value_get(document, "exit_code"), *usage = value_get(document, "usage");

        return value_get(document, "@result") && exit_code && exit_code->type == VALUE_INT &&
               ((usage && usage->type == VALUE_OBJECT) || value_get_string(document, "script_sha256"));
}

static bool has_run(const Value *part) {
        const Value *exit_code = value_get(part, "exit_code");

        return value_get(part, "stdout") || (exit_code && exit_code->type == VALUE_INT);
}

static bool find_part(const Value *document, AmunPart *ret) {
        static const struct {
                const char *key, *stdout_path;
        } inner[] = { { "job_log", "job_log.stdout" }, { "log", "log.stdout" } };

        *ret = (AmunPart){ .value = document, .stdout_path = "stdout" };
        if (value_get(document, "@result")) {
                ret->stdout_path = "";
                ret->is_top = true;
                return is_top_level(document);
        }

        for (size_t i = 0; i < N_ELEMENTS(inner) && !has_run(ret->value); i++)
                if (has_run(value_get(document, inner[i].key)))
                        *ret = (AmunPart){ .value = value_get(document, inner[i].key),
                                           .stdout_path = inner[i].stdout_path };
        return has_run(ret->value);
}

/* Returns the result in an answer of the REST API; any other document unchanged. */
static const Value *unwrap(const Value *document) {
        const Value *result = value_get(document, "result"), *parameters = value_get(document, "parameters");
        AmunPart part;

        if (!parameters || parameters->type != VALUE_OBJECT || value_get(document, "@result") || has_run(document))
                return document;
        return result && find_part(result, &part) ? result : document;
}

bool amun_is_result(const Value *document) {
        AmunPart part;

        return document->type == VALUE_OBJECT && find_part(unwrap(document), &part);
}

/* --- output of the script ------------------------------------------------------------------------- */

static int parse_printed(const char *text, const char *path, Arena *arena, const Value **ret, Complaint *complaint) {
        Capture capture = { .text = { .text = (char *)text, .n = strlen(text) } }; /* borrowed, not released */
        const Value *documents[CAPTURE_DOCUMENTS_MAX];
        CaptureLoss loss;
        size_t n;
        int r;

        r = capture_find(&capture, arena, documents, &n, &loss);
        if (r < 0)
                return r;
        if (n == 0 && loss.error.line > 0)
                return indicator_complain(complaint, path, "contains no indicator: stdout:%u:%u: %s", loss.error.line,
                                          loss.error.column, loss.error.text);
        if (n == 0)
                return indicator_complain(complaint, path, "contains no JSON object with @result, but '%.*s'",
                                          (int)utf8_cut(text, 60), text);
        if (n > 1)
                return indicator_complain(complaint, path, "contains %zu indicators; a run has only one: split it", n);

        *ret = documents[0];
        return 0;
}

/* Copies the script's members without the runner's. */
static int copy_script_members(const Value *document, Arena *arena, const Value **ret) {
        Member *members = arena_alloc(arena, document->n_members * sizeof(*members));
        Value *printed = arena_alloc(arena, sizeof(*printed));
        size_t n = 0;

        if (!members || !printed)
                return -ENOMEM;

        for (size_t i = 0; i < document->n_members; i++)
                if (!is_runner_key(document->members[i].key))
                        members[n++] = document->members[i];

        *printed = (Value){ .type = VALUE_OBJECT, .members = members, .n_members = n };
        *ret = printed;
        return 0;
}

static bool is_empty_output(const Value *printed) {
        return !printed || printed->type == VALUE_NULL || (printed->type == VALUE_OBJECT && printed->n_members == 0) ||
               (printed->type == VALUE_STRING && !printed->string[strspn(printed->string, " \t\r\n")]);
}

static int find_printed(const AmunPart *part, Arena *arena, const Value **ret, Complaint *complaint) {
        const Value *printed = value_get(part->value, "stdout");

        *ret = NULL;
        if (part->is_top)
                return copy_script_members(part->value, arena, ret);
        if (is_empty_output(printed))
                return 0;
        if (printed->type == VALUE_STRING)
                return parse_printed(printed->string, part->stdout_path, arena, ret, complaint);
        if (printed->type != VALUE_OBJECT)
                return indicator_complain(complaint, part->stdout_path,
                                          "is %s, must be what a script prints: an object with @result",
                                          value_type_text(printed));

        *ret = printed;
        return 0;
}

int amun_find_printed(const Value *document, Arena *arena, const Value **ret, Complaint *ret_complaint) {
        AmunPart part;

        if (!find_part(unwrap(document), &part))
                return indicator_complain(ret_complaint, "", "is not a result of Amun");
        return find_printed(&part, arena, ret, ret_complaint);
}

/* --- the indicator -------------------------------------------------------------------------------- */

/* Derives "matmul" from https://example.org/tensorflow/matmul.py. */
static const char *name_of_script(const char *origin, Arena *arena) {
        const char *base = origin ? strrchr(origin, '/') : NULL, *dot;
        char *name;

        if (!base || strchr(origin, '\n'))
                return NULL;

        dot = strrchr(++base, '.');
        name = arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
        return name && indicator_name_is_valid(name, NAME_MAX_BYTES) ? name : NULL;
}

/* Makes the indicator of a failed run. The run's output is used only if it is a valid document. */
static int make_failed_indicator(const Value *printed, const AmunContext *context, const AmunPlace *place, Arena *arena,
                                 Indicator *ret, Complaint *complaint) {
        const IndicatorGiven given = {
                .name = context->name ?: name_of_script(get_origin(place), arena),
                .component = context->component,
                .version = context->version ?: get_text(place, "script_sha256"),
        };
        int r;

        r = indicator_from_failed_run(printed ?: context->printed, &given, DOCUMENT_LIMITS_NONE, ret, complaint);
        if (r == INDICATOR_INVALID && printed)
                r = indicator_from_failed_run(context->printed, &given, DOCUMENT_LIMITS_NONE, ret, complaint);
        if (r == INDICATOR_INVALID && !given.name)
                return indicator_complain(complaint, "name",
                                          "a failed run names no indicator: use --indicator, as in --indicator "
                                          "PiMatmul");
        return r;
}

static int make_indicator(const Value *printed, const AmunPart *part, const char *sha256, Arena *arena, Indicator *ret,
                          Complaint *complaint) {
        char path[2 * COMPLAINT_PATH_MAX];
        Complaint inner;
        int r = 0;

        if (sha256) /* as in Amun, the hash is the version if the script has none */
                r = object_builder_complete(printed, "version", sha256, arena, &printed);
        if (r == 0)
                r = indicator_from_value(printed, DOCUMENT_LIMITS_NONE, ret, &inner);
        if (r != INDICATOR_INVALID)
                return r;

        (void)snprintf(path, sizeof(path), "%s%s%s", part->stdout_path,
                       part->stdout_path[0] && inner.path[0] ? "." : "", inner.path);
        return indicator_complain(complaint, path, "%s", inner.text);
}

/* --- exit code ------------------------------------------------------------------------------------ */

/* Python reports a signal as a negative number, a shell as 128 plus its number. */
static int read_exit_code(const Value *part, Submission *ret, Complaint *complaint) {
        int64_t code;

        if (!value_get_given(part, "exit_code"))
                return 0;
        if (!value_get_int(part, "exit_code", &code) || code < -127 || code > 255)
                return indicator_complain(complaint, "exit_code",
                                          "must be a whole number from 0 to 255, or -1 to -127 for a signal");

        ret->has_exit_status = true;
        ret->exit_status = (int32_t)(code < 0 ? 128 - code : code);
        return 0;
}

int amun_read(const Value *document, const AmunContext *context, Arena *arena, Submission *ret,
              Complaint *ret_complaint) {
        const Value *result = unwrap(document);
        AmunPlace place = {
                .document = result,
                .specification = value_get(result, "specification") ?: context->specification,
                .hwinfo = context->hwinfo,
                .inspection = context->inspection
                                      ?: value_get_string(value_get(document, "parameters"), "inspection_id"),
        };
        Submission submission = {};
        const Value *printed;
        AmunPart part;
        int r;

        if (!find_part(result, &part))
                return indicator_complain(ret_complaint, "",
                                          "is not a result of Amun: it has neither stdout nor exit_code");

        place.part = part.value;
        r = read_exit_code(part.value, &submission, ret_complaint);
        if (r == 0)
                r = find_printed(&part, arena, &printed, ret_complaint);
        /* the output of a failed run need not be valid */
        if (r == INDICATOR_INVALID && submission_has_failed(&submission)) {
                printed = NULL;
                r = 0;
        }
        if (r != 0)
                return r;

        if (!printed && !submission_has_failed(&submission)) {
                submission.has_exit_status = true;
                submission.exit_status = AMUN_PRINTED_NOTHING;
        }
        r = submission_has_failed(&submission)
                    ? make_failed_indicator(printed, context, &place, arena, &submission.indicator, ret_complaint)
                    : make_indicator(printed, &part, get_text(&place, "script_sha256"), arena, &submission.indicator,
                                     ret_complaint);
        if (r == 0)
                r = make_run(&place, arena, &submission, ret_complaint);
        if (r == 0)
                r = make_stack(&place, arena, &submission);
        if (r != 0)
                return r;

        if (place.specification && place.specification->type == VALUE_OBJECT && place.specification->n_members > 0)
                submission.specification = place.specification;
        *ret = submission;
        return 0;
}

/* Covers the tree, the tree of a string in it, and the copies made for the run. */
size_t amun_arena_size(size_t n) {
        return 3 * value_parse_arena_size(n) + AMUN_RUN_ARENA_BYTES;
}
