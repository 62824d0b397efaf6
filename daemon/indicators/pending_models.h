/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pending models: models that wait for the store before they enter the table
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "indicators/models.h"

typedef struct PendingModel {
        Model *model;   /* owned */
        uint32_t index; /* of the model in its request */
} PendingModel;

/* Models whose registration or removal is queued for the store; of a removal, one model. */
typedef struct PendingModels {
        PendingModel *items; /* owned; sorted by name, then component */
        size_t n;            /* 0: nothing is queued */
        bool is_removal;
} PendingModels;

void pending_models_deinit(PendingModels *pending);
/* Moves a model to the list, which has space for it. */
void pending_models_add(PendingModels *pending, Model **model, size_t index);
/* Compares two PendingModel for qsort(3): 0 if they declare the same indicator. */
int pending_models_compare(const void *a, const void *b);
