/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/command_result.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "client/facts/object_builder.h"
#include "text/text.h"
#include "util/sha256.h"
#include "util/utf8.h"

#define RESULT_MEMBERS_MAX 16U
#define BYTES_PER_KIB 1024
#define BYTES_PER_BLOCK 512 /* unit of ru_inblock and ru_oublock, see getrusage(2) */

void command_result_name(const char *text, char ret[static NAME_MAX_BYTES + 1]) {
        char character[2] = "";
        size_t n = 0;

        for (; *text && n < NAME_MAX_BYTES; text++) {
                character[0] = *text;
                ret[n++] = indicator_name_is_valid(character, 1) ? *text : '_';
        }
        ret[n] = '\0';
        if (n == 0)
                strcpy(ret, COMMAND_RESULT_COMPONENT);
}

/* Joins the words as typed into a shell. The SHA-256 distinguishes long command lines. */
static int put_command(char *const *words, ObjectBuilder *parameters) {
        scoped(buffer_deinit) Buffer line = {}, valid = {};
        char digest[SHA256_TEXT_MAX];

        for (size_t i = 0; words[i]; i++) {
                buffer_puts(&line, i > 0 ? " " : "");
                text_put_word(&line, words[i]);
        }
        if (buffer_error(&line) < 0)
                return -ENOMEM;

        text_put_valid(&valid, line.text, utf8_cut(line.text, COMMAND_RESULT_TEXT_MAX));
        if (line.n > COMMAND_RESULT_TEXT_MAX) {
                sha256_text(line.text, line.n, digest);
                buffer_printf(&valid, "… sha256:%s", digest);
        }
        if (buffer_error(&valid) < 0)
                return -ENOMEM;

        object_builder_put_text_n(parameters, "command", valid.text, valid.n);
        return 0;
}

static void put_rusage(const JobRusage *rusage, ObjectBuilder *result) {
        object_builder_put_double(result, "user_time", rusage->ru_utime);
        object_builder_put_double(result, "system_time", rusage->ru_stime);
        object_builder_put_int(result, "max_rss", rusage->ru_maxrss * BYTES_PER_KIB);
        object_builder_put_int(result, "read_bytes", rusage->ru_inblock * BYTES_PER_BLOCK);
        object_builder_put_int(result, "written_bytes", rusage->ru_oublock * BYTES_PER_BLOCK);
        object_builder_put_int(result, "voluntary_context_switches", rusage->ru_nvcsw);
        object_builder_put_int(result, "involuntary_context_switches", rusage->ru_nivcsw);
        object_builder_put_int(result, "minor_page_faults", rusage->ru_minflt);
        object_builder_put_int(result, "major_page_faults", rusage->ru_majflt);
}

int command_result_make(const CommandBenchmark *benchmark, const RunFacts *facts, Arena *arena, const Value **ret) {
        Value *value = arena_alloc(arena, sizeof(*value)), parameters_value;
        ObjectBuilder document, parameters, result;
        int r;

        assert(indicator_name_is_valid(benchmark->name, NAME_MAX_BYTES));

        object_builder_init(&document, arena, 4);
        object_builder_init(&parameters, arena, 1);
        object_builder_init(&result, arena, RESULT_MEMBERS_MAX);
        r = benchmark->words ? put_command(benchmark->words, &parameters) : 0;
        if (r == 0)
                r = object_builder_end(&parameters, &parameters_value);
        if (r < 0)
                return r;

        object_builder_put_double(&result, "elapsed", facts->wall_seconds);
        if (facts->has_rusage)
                put_rusage(&facts->rusage, &result);
        object_builder_put_text(&document, "name", benchmark->name);
        object_builder_put_text(&document, "component", benchmark->component);
        object_builder_put(&document, "@parameters", &parameters_value);
        object_builder_put_object(&document, "@result", &result);
        if (!value || object_builder_end(&document, value) < 0)
                return -ENOMEM;

        *ret = value;
        return 0;
}
