/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: declarations of models, from files and registrations
 *
 * An accepted text must be accepted again after conversion to JSON, since registered models are stored as JSON, and
 * must find and validate its own properties. A refused text must have an error with a position inside the text.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator_model.h"
#include "text/yaml.h"
#include "util/scoped.h"
#include "util/utf8.h"

#define TEXT_MAX 65536U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_model(const IndicatorModel *model) {
        const Value none = { .type = VALUE_OBJECT };
        const Indicator indicator = { .name = model->name, .parameters = &none, .result = &none };
        Complaint complaint;
        size_t n_deviations;

        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];

                assert(indicator_model_find(model, property->name, property->is_result) == property);
                assert(!indicator_model_find(model, property->name, !property->is_result));
        }
        assert(indicator_model_judge(model, &indicator, MODEL_STRICT, &n_deviations, &complaint) == MODEL_INVALID);
        assert(n_deviations == model->n_properties);
}

/* True: it was taken, and *ret_json is it once more. */
static bool declare(const char *text, size_t n, Buffer *ret_json) {
        scoped(arena_deinit) Arena arena = {};
        unsigned line, column;
        Complaint complaint;
        const Value *document;
        IndicatorModel model;
        YamlError error;
        Json json = { .out = ret_json };
        int r;

        assert(arena_init(&arena, yaml_arena_size(n) + MODEL_ARENA_BYTES) == 0);
        r = yaml_read(text, n, &arena, &document, &error);
        assert(r == 0 || r == YAML_MALFORMED); /* the arena is always large enough */
        if (r != 0)
                return false;

        r = indicator_model_from_value(document, &arena, &model, &complaint);
        assert(r == 0 || r == MODEL_INVALID);
        if (r == MODEL_INVALID) {
                assert(complaint.text[0]);
                yaml_locate(text, n, complaint.path, &line, &column);
                assert(line >= 1 && column >= 1);
                return false;
        }

        check_model(&model);
        value_write_json(document, &json);
        assert(buffer_error(ret_json) == 0);
        return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(buffer_deinit) Buffer once = {}, twice = {};

        if (size > TEXT_MAX || !declare((const char *)data, size, &once))
                return 0;

        assert(declare(once.text, once.n, &twice));
        assert(once.n == twice.n && memcmp(once.text, twice.text, once.n) == 0);
        return 0;
}
