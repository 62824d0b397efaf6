/* SPDX-License-Identifier: Apache-2.0 */
#include "store/catalog/shape.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void write_names(Json *json, const IndicatorModel *model, bool of_results) {
        json_array_begin(json);
        for (size_t i = 0; i < model->n_properties; i++) {
                const Property *property = &model->properties[i];

                if (property->is_result == of_results && (of_results ? !property->from : property->index != INDEX_NONE))
                        json_string(json, property->name);
        }
        json_array_end(json);
}

void shape_write(const IndicatorModel *model, Buffer *out) {
        Json json = { .out = out };

        json_object_begin(&json);
        json_key(&json, "parameters");
        write_names(&json, model, false);
        json_key(&json, "results");
        write_names(&json, model, true);
        json_object_end(&json);
}

static int find_name(JsonText list, const char *key) {
        JsonWalk walk = json_text_walk(list);
        size_t n = strlen(key);
        JsonText unused, name;

        for (int i = 0; json_text_walk_next(&walk, &unused, &name); i++)
                if (json_text_is_string(name, key, n))
                        return i;
        return -1;
}

int shape_find_result(JsonText shape, const char *key) {
        return find_name(json_text_find(shape, "results"), key);
}

bool shape_has_parameter(JsonText shape, const char *key) {
        return find_name(json_text_find(shape, "parameters"), key) >= 0;
}

/* --- from a document ----------------------------------------------------------------------------- */

int shape_put_parameters(JsonText document, Buffer *out) {
        return json_text_put_sorted(json_text_find(document, "@parameters"), out);
}

static size_t read_names(JsonText list, JsonText ret[static MODEL_PROPERTIES_MAX]) {
        JsonWalk walk = json_text_walk(list);
        JsonText unused;
        size_t n = 0;

        while (n < MODEL_PROPERTIES_MAX && json_text_walk_next(&walk, &unused, &ret[n]))
                n++;
        return n;
}

/* Writes a double for each of the shape's results; NAN: no number. */
static void put_numbers(JsonText document, JsonText shape, Buffer *out) {
        JsonText names[MODEL_PROPERTIES_MAX], key, value;
        double numbers[MODEL_PROPERTIES_MAX];
        size_t n = read_names(json_text_find(shape, "results"), names);
        JsonWalk walk = json_text_walk(json_text_find(document, "@result"));

        for (size_t i = 0; i < n; i++)
                numbers[i] = (double)NAN;

        while (walk.is_object && json_text_walk_next(&walk, &key, &value))
                for (size_t i = 0; i < n; i++)
                        if (json_text_equals(names[i], key)) {
                                (void)json_text_double(value, &numbers[i]);
                                break;
                        }
        buffer_put(out, numbers, n * sizeof(*numbers));
}

/* Writes ", MODEL" for each GPU. */
static void put_gpus(JsonText gpus, Buffer *out) {
        JsonWalk walk = json_text_walk(gpus);
        JsonText unused, gpu, model;

        while (!walk.is_object && json_text_walk_next(&walk, &unused, &gpu)) {
                model = json_text_find(gpu, "model");
                if (json_text_kind(model) != JSON_KIND_STRING)
                        continue;
                buffer_puts(out, ", ");
                json_text_decode(model, out);
        }
}

bool shape_put_hardware(JsonText run, Buffer *out) {
        JsonText cpu = json_text_find(json_text_find(run, "host"), "cpu");
        JsonText model = json_text_find(cpu, "model"), cores = json_text_find(cpu, "cores");

        if (json_text_kind(model) != JSON_KIND_STRING)
                return false;

        json_text_decode(model, out);
        if (json_text_kind(cores) == JSON_KIND_NUMBER)
                buffer_printf(out, ", %.*s cores", (int)cores.n, cores.text);
        put_gpus(json_text_find(json_text_find(run, "host"), "gpus"), out);
        return true;
}

void shape_parts_deinit(ShapeParts *parts) {
        buffer_deinit(&parts->hardware_text);
        buffer_deinit(&parts->parameters_text);
        buffer_deinit(&parts->numbers_blob);
}

int shape_parts_read(ShapeParts *parts, JsonText document, JsonText run, JsonText shape, bool has_failed) {
        bool has_hardware;

        buffer_clear(&parts->hardware_text);
        buffer_clear(&parts->parameters_text);
        buffer_clear(&parts->numbers_blob);
        has_hardware = shape_put_hardware(run, &parts->hardware_text);
        if (!has_failed)
                put_numbers(document, shape, &parts->numbers_blob);
        if (shape_put_parameters(document, &parts->parameters_text) < 0 || buffer_error(&parts->hardware_text) < 0 ||
            buffer_error(&parts->numbers_blob) < 0)
                return -ENOMEM;

        parts->hardware = field_if(has_hardware, field_buffer(&parts->hardware_text));
        parts->parameters = field_buffer(&parts->parameters_text);
        parts->numbers = field_if(!has_failed, field_blob(parts->numbers_blob.text ?: "", parts->numbers_blob.n));
        return 0;
}
