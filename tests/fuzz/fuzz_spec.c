/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: specifications of Amun for `perfctl run --spec`
 *
 * An accepted specification has a script, files that stay below their directory, and valid environment variables. A
 * refused specification must have an error message.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/run/spec.h"
#include "text/yaml.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define TEXT_MAX 65536U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spec(const Spec *spec) {
        assert(spec->script && spec->script[0]);
        assert(spec->batch_size >= 1 && spec->batch_size <= SPEC_BATCH_MAX);
        for (size_t i = 0; i < spec->n_variables; i++)
                assert(spec->variables[i].name[0] && !strchr(spec->variables[i].name, '=') && spec->variables[i].text);
        for (size_t i = 0; i < spec->n_files; i++)
                assert(spec_path_is_below(spec->files[i].name) && spec->files[i].name[0] != '/' && spec->files[i].text);
        assert(buffer_error(&spec->ignored_keys) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(spec_deinit) Spec spec = {};
        scoped(arena_deinit) Arena arena = {};
        const Value *value;
        SpecError spec_error;
        YamlError error;
        int r;

        if (size > TEXT_MAX)
                return 0;
        assert(arena_init(&arena, yaml_arena_size(size)) == 0);
        if (yaml_read((const char *)data, size, &arena, &value, &error) != 0)
                return 0;

        r = spec_read(value, NULL, &spec, &spec_error);
        assert(r == 0 || r == SPEC_WRONG);
        if (r == 0)
                check_spec(&spec);
        else
                assert(spec_error.text[0] && utf8_is_valid(spec_error.text, strlen(spec_error.text)));
        return 0;
}
