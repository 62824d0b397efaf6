/* SPDX-License-Identifier: Apache-2.0 */
#include "document/derived.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/array.h"
#include "util/scoped.h"

static DerivedNumber *number_free(DerivedNumber *number) {
        if (!number)
                return NULL;

        free(number->name);
        free(number->from);
        free(number);
        return NULL;
}
DEFINE_SCOPED(DerivedNumber, number_free);

void derived_models_deinit(DerivedModels *models) {
        for (size_t i = 0; i < models->n; i++) {
                for (size_t k = 0; k < models->items[i].n; k++)
                        number_free(models->items[i].items[k]);
                free(models->items[i].items);
                free(models->items[i].component);
        }
        free(models->items);
}

static char *decode(JsonText text) {
        scoped(buffer_deinit) Buffer out = {};

        json_text_decode(text, &out);
        return buffer_error(&out) == 0 ? strdup(out.text ?: "") : NULL;
}

/* Skips an expression that this version does not know: the model may have been stored by another version. */
static int add_number(DerivedModel *model, JsonText name, JsonText from) {
        scoped(number_freep) DerivedNumber *number = calloc(1, sizeof(*number));
        ExpressionError unused;

        if (!number)
                return -ENOMEM;
        number->name = decode(name);
        number->from = decode(from);
        if (!number->name || !number->from)
                return -ENOMEM;
        if (expression_parse(number->from, &number->expression, &unused) != 0)
                return 0;
        if (ARRAY_EXTEND(model->items, model->n) < 0)
                return -ENOMEM;
        model->items[model->n++] = TAKE(number);
        return 0;
}

int derived_models_add(DerivedModels *models, const char *component, JsonText results) {
        JsonWalk walk = json_text_walk(results);
        JsonText name, declaration;
        DerivedModel *model;
        int r = 0;

        if (ARRAY_EXTEND(models->items, models->n) < 0)
                return -ENOMEM;
        model = &models->items[models->n++];
        *model = (DerivedModel){ .component = component ? strdup(component) : NULL };
        if (component && !model->component)
                return -ENOMEM;

        while (r == 0 && walk.is_object && json_text_walk_next(&walk, &name, &declaration)) {
                JsonText from = json_text_find(declaration, "from");

                if (json_text_kind(from) == JSON_KIND_STRING)
                        r = add_number(model, name, from);
        }
        return r;
}

const DerivedModel *derived_models_find(const DerivedModels *models, const char *component) {
        for (size_t i = 0; i < models->n; i++)
                if (!models->items[i].component || strcasecmp(models->items[i].component, component) == 0)
                        return &models->items[i];
        return NULL;
}

const Expression *derived_model_find(const DerivedModel *model, const char *name) {
        for (size_t i = 0; i < model->n; i++)
                if (strcmp(model->items[i]->name, name) == 0)
                        return &model->items[i]->expression;
        return NULL;
}

int derived_model_write(const DerivedModel *model, JsonText document, Json *json) {
        json_object_begin(json);
        for (size_t i = 0; i < model->n; i++) {
                char reason[EXPRESSION_TEXT_MAX];
                double value = 0;
                int r = expression_evaluate(&model->items[i]->expression, document, &value, reason);

                if (r < 0)
                        return r;
                json_put_object_begin(json, model->items[i]->name);
                json_put_double_or_null(json, "value", r == 0, value);
                if (r != 0)
                        json_put_string(json, "reason", reason);
                json_object_end(json);
        }
        json_object_end(json);
        return 0;
}
