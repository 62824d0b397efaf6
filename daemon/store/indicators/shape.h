/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shape: what of a result is indexed, and how it is taken out of a document
 *
 * {"parameters":["matrix_size",…],"results":["rate",…]}: the parameters of a model that are searched by, and the
 * results whose numbers a point holds, in this order. Everything is read from the document's text: at arrival, when a
 * result is indexed later, and when it is looked up without an index, so that all three see the same.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator_model.h"
#include "util/buffer.h"
#include "util/json_text.h"

void shape_write(const IndicatorModel *model, Buffer *out);

/* Where the number of a result is in a point; -1 when it is not. */
int shape_find_result(JsonText shape, const char *key);
bool shape_has_parameter(JsonText shape, const char *key);

/* @parameters in the order of their keys; {} when there are none. 0 or -ENOMEM. */
int document_put_parameters(JsonText document, Buffer *out);
/* A double for each of the shape's results, NAN where there is no number. */
void document_put_numbers(JsonText document, JsonText shape, Buffer *out);
/* What a run was measured on: "MODEL, N cores", and its GPUs if any; false, and nothing, when it does not say. */
bool run_put_hardware(JsonText run, Buffer *out);
