/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/pending_models.h"

#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

void pending_models_deinit(PendingModels *pending) {
        for (size_t i = 0; i < pending->n; i++)
                model_free(pending->items[i].model);
        free(pending->items);
        *pending = (PendingModels){};
}

void pending_models_add(PendingModels *pending, Model **model, size_t index) {
        pending->items[pending->n++] = (PendingModel){ .model = TAKE(*model), .index = (uint32_t)index };
}

int pending_models_compare(const void *a, const void *b) {
        const IndicatorModel *first = &((const PendingModel *)a)->model->model, *second = &((const PendingModel *)b)->model->model;
        int order = strcmp(first->name, second->name);

        return order != 0 ? order : strcmp(first->component ?: "", second->component ?: "");
}
