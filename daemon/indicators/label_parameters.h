/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Label parameters: declared parameters that a result lacks, but that it or its run has as a label
 *
 * Labels describe a run and do not split the history of a KPI. Where a model declares a parameter of the name of a
 * label, the label is meant as the parameter: it is stored with the parameters of the result.
 */

#include "document/indicator_model.h"
#include "request/request.h"
#include "util/arena.h"
#include "util/buffer.h"

/* The document with the added parameters. */
typedef struct LabelParameters {
        Buffer text; /* owned */
        Arena arena; /* owned; has the tree of the text */
} LabelParameters;

void label_parameters_deinit(LabelParameters *added);

/* Adds the parameters to the item, which borrows them. 0 or -ENOMEM. */
int label_parameters_add(const IndicatorModel *model, Submission *item, LabelParameters *ret);
