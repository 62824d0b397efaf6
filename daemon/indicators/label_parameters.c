/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/label_parameters.h"

#include <errno.h>
#include <string.h>

#include "value/value_parse.h"

void label_parameters_deinit(LabelParameters *added) {
        buffer_deinit(&added->text);
        arena_deinit(&added->arena);
}

/* Returns true if the result lacks the parameter, and there is a label: that of the result comes first. */
static bool find_missing(const Submission *item, const Property *property, Value *ret) {
        const Indicator *indicator = &item->indicator;
        const Value *label = value_get_given(value_get(indicator->document, "@labels"), property->name)
                                     ?: value_get_given(value_get(item->run, "labels"), property->name);

        if (property->is_result || !label || !value_is_scalar(label) ||
            value_get_given(indicator->parameters, property->name) || value_get(indicator->result, property->name))
                return false;
        *ret = label->type == VALUE_STRING ? property_value_of(property, label->string) : *label;
        return true;
}

static void write_parameters(const IndicatorModel *model, const Submission *item, Json *json) {
        const Value *parameters = item->indicator.parameters;
        Value value;

        json_put_object_begin(json, "@parameters");
        for (size_t i = 0; i < parameters->n_members; i++)
                if (parameters->members[i].value.type != VALUE_NULL)
                        value_put_json(&parameters->members[i].value, parameters->members[i].key, json);
        for (size_t i = 0; i < model->n_properties; i++)
                if (find_missing(item, &model->properties[i], &value))
                        value_put_json(&value, model->properties[i].name, json);
        json_object_end(json);
}

static bool has_missing(const IndicatorModel *model, const Submission *item) {
        Value unused;

        for (size_t i = 0; i < model->n_properties; i++)
                if (find_missing(item, &model->properties[i], &unused))
                        return true;
        return false;
}

int label_parameters_add(const IndicatorModel *model, Submission *item, LabelParameters *ret) {
        const Value *document = item->indicator.document, *added;
        Json json = { .out = &ret->text };
        ValueError error;
        int r;

        if (!document || !item->indicator.parameters || !has_missing(model, item))
                return 0;

        json_object_begin(&json);
        for (size_t i = 0; i < document->n_members; i++)
                if (&document->members[i].value == item->indicator.parameters)
                        write_parameters(model, item, &json);
                else
                        value_put_json(&document->members[i].value, document->members[i].key, &json);
        json_object_end(&json);
        r = buffer_error(&ret->text);
        if (r == 0)
                r = value_parse_only(ret->text.text, ret->text.n, &ret->arena, &added, &error);
        if (r != 0) /* the text is a document: only memory may lack */
                return -ENOMEM;

        item->indicator.document = added;
        item->indicator.parameters = value_get(added, "@parameters");
        item->document_text = json_text(ret->text.text, ret->text.n);
        return 0;
}
