/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/run_record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/utf8.h"

#define VARIABLE_BYTES_MAX 4096U

static bool is_python(const char *program) {
        const char *slash = strrchr(program, '/');

        return strncmp(slash ? slash + 1 : program, "python", 6) == 0;
}

/* The one that runs the command, which need not be the first in PATH. */
static const char *find_python(const RunPlace *place) {
        if (place->has_script && is_python(place->script.interpreter))
                return place->script.interpreter;
        return place->program && is_python(place->program) ? place->program : "python3";
}

void run_record_read_place(RunPlace *place) {
        scoped(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *path = getenv("PATH"), *cuda = getenv("CUDA_HOME");

        host_facts_read(root_fd, &place->host);
        (void)host_facts_program_version(path ?: "", find_python(place), place->python);
        (void)host_facts_program_version(path ?: "", "gcc", place->gcc);
        (void)host_facts_program_version("", cuda && cuda[0] == '/' ? cuda : "/usr/local/cuda", place->cuda);
}

static void put_rusage(const JobRusage *from, ObjectBuilder *run) {
        ObjectBuilder rusage;

        object_builder_init(&rusage, run->arena, 16);
        object_builder_put_double(&rusage, "ru_utime", from->ru_utime);
        object_builder_put_double(&rusage, "ru_stime", from->ru_stime);
#define X(field) object_builder_put_int(&rusage, #field, from->field);
        RUSAGE_FIELDS(X)
#undef X
        object_builder_put_object(run, "rusage", &rusage);
}

static void put_stderr(const OutputTail *tail, ObjectBuilder *run) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_cut;

        output_tail_text(tail, &text, &is_cut);
        run->failed |= buffer_error(&text) < 0;
        object_builder_put_text_n(run, "stderr", text.text, text.n);
        object_builder_put_bool(run, "stderr_cut", is_cut);
}

static void put_time(ObjectBuilder *run, const char *key, uint64_t ns) {
        char text[CLOCK_TEXT_MAX];

        clock_format_utc(ns, text);
        object_builder_put_text(run, key, text);
}

/* A variable that is not there is left out; one that is no UTF-8 cannot be said. */
static void put_environment(const RunPlace *place, ObjectBuilder *run) {
        ObjectBuilder environment;

        object_builder_init(&environment, run->arena, OPTION_TEXTS_MAX);
        for (size_t i = 0; i < place->environment.n; i++) {
                const char *value = getenv(place->environment.items[i]);
                Value text = { .type = VALUE_STRING };

                if (!value || !utf8_is_valid(value, strlen(value)))
                        continue;
                text.string = arena_strndup(run->arena, value, utf8_cut(value, VARIABLE_BYTES_MAX));
                if (text.string)
                        object_builder_put(&environment, place->environment.items[i], &text);
                else
                        run->failed = true;
        }
        object_builder_put_object(run, "environment", &environment);
}

static void put_place(const RunPlace *place, ObjectBuilder *run) {
        ObjectBuilder script, runtime;
        char directory[PATH_MAX];

        object_builder_init(&script, run->arena, 2);
        if (place->has_script) {
                object_builder_put_text(&script, "sha256", place->script.sha256);
                if (utf8_is_valid(place->script.origin, strlen(place->script.origin)))
                        object_builder_put_text(&script, "origin", place->script.origin);
        }
        object_builder_put_object(run, "script", &script);
        host_facts_put(&place->host, run);

        object_builder_init(&runtime, run->arena, 3);
        object_builder_put_text(&runtime, "python", place->python);
        object_builder_put_text(&runtime, "gcc", place->gcc);
        object_builder_put_text(&runtime, "cuda", place->cuda);
        object_builder_put_object(run, "runtime", &runtime);
        put_environment(place, run);
        if (getcwd(directory, sizeof(directory)) && utf8_is_valid(directory, strlen(directory)))
                object_builder_put_text(run, "directory", directory);
}

#define RUN_MEMBERS_MAX 14U

int run_record_make(const RunPlace *place, const RunFacts *facts, Arena *arena, const Value **ret) {
        Value *value = arena_alloc(arena, sizeof(*value));
        ObjectBuilder run;

        object_builder_init(&run, arena, RUN_MEMBERS_MAX);
        if (facts->has_rusage)
                put_rusage(&facts->rusage, &run);
        if (facts->error)
                put_stderr(facts->error, &run);
        put_time(&run, "begin", facts->begin_realtime_ns);
        put_time(&run, "end", facts->end_realtime_ns);
        object_builder_put_double(&run, "wall_seconds", facts->wall_seconds);
        if (facts->n_oom_kills > 0)
                object_builder_put_int(&run, "oom_kills", (int64_t)facts->n_oom_kills);
        put_place(place, &run);
        if (!value || object_builder_end(&run, value) < 0)
                return -ENOMEM;

        *ret = value;
        return 0;
}
