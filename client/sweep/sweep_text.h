/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep text: spelling and identity of settings
 */

#include <stddef.h>

#include "util/buffer.h"
#include "value/value.h"

#define SWEEP_SETTINGS_MAX 256U /* of a point */

enum {
        SWEEP_TEXT_OTHER = 1, /* the value is not an object of settings */
};

/* Writes "1", "0.5", "true", "null", and a string unchanged. The value must be a scalar. */
void sweep_text_put(Buffer *out, const Value *value);

/* Writes a setting on one line, which every YAML reader reads as this key and a value of this type. */
void sweep_text_put_yaml(Buffer *out, const char *key, const Value *value);

/*
 * Identifies an object of settings independently of their order and types: equal texts mean equal settings. 0,
 * -ENOMEM, or SWEEP_TEXT_OTHER unless it is an object of at most SWEEP_SETTINGS_MAX scalars.
 */
int sweep_text_identify(const Value *settings, Buffer *out);

/*
 * Appends a warning, on a line of its own, for each number of settings and extra that loses zeros at its end. For
 * YAML, 3.10 is the same number as 3.1. If a version was meant, no later step would notice. text: of the file, n
 * bytes.
 */
void sweep_text_check_spelling(const Value *file, const char *text, size_t n, Buffer *warnings);
