/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shape: the indexed parts of a result, and how they are read from a document
 *
 * {"parameters":["matrix_size",…],"results":["rate",…]}: the indexed parameters of a model, and the results whose
 * numbers a point has, in this order. All parts are read from the document's text: when a result is stored, when it
 * is indexed later, and when it is looked up without an index, so that the values are always the same.
 */

#include <stdbool.h>

#include "document/indicator_model.h"
#include "json/json_text.h"
#include "store/database/pack.h"
#include "util/buffer.h"

void shape_write(const IndicatorModel *model, Buffer *out);

/* Index of a result's number in a point; -1: a point does not have it. */
int shape_find_result(JsonText shape, const char *key);
bool shape_has_parameter(JsonText shape, const char *key);

/* Writes @parameters sorted by key; {} when there are none. 0 or -ENOMEM. */
int shape_put_parameters(JsonText document, Buffer *out);
/* Writes the hardware of a run: "MODEL, N cores" and its GPUs. False: the run does not contain the hardware, and
 * nothing is written. */
bool shape_put_hardware(JsonText run, Buffer *out);

/* Parts of a result for its series and its point. Initially zero; the buffers are kept from result to result. */
typedef struct ShapeParts {
        Buffer hardware_text, parameters_text, numbers_blob; /* owned */
        Field hardware, parameters, numbers;                 /* borrow the buffers; null: unknown, or a failed run */
} ShapeParts;

void shape_parts_deinit(ShapeParts *parts);
/* 0 or -ENOMEM. */
int shape_parts_read(ShapeParts *parts, JsonText document, JsonText run, JsonText shape, bool has_failed);
