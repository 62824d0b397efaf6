/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweep text: spelling and identity of settings
 */

#include <stddef.h>

#include "document/value.h"
#include "util/buffer.h"

#define SWEEP_SETTINGS_MAX 256U /* of a point */

enum {
        SWEEP_TEXT_OTHER = 1, /* no settings */
};

/* "1", "0.5", "true", "null", and a string as it is. The value is none of list and object. */
void sweep_text_put(Buffer *out, const Value *value);

/* One setting on one line, which every YAML reader reads as this key and a value of this type. */
void sweep_text_put_yaml(Buffer *out, const char *key, const Value *value);

/* Identifies settings independently of their order: equal texts mean equal settings. 0 or -ENOMEM. */
int sweep_text_identify(const char *const *keys, const char *const *texts, size_t n, Buffer *out);
/* The same of what settings.yaml holds: 0, -ENOMEM, or SWEEP_TEXT_OTHER of what is no object of at most SWEEP_SETTINGS_MAX scalars. */
int sweep_text_identify_value(const Value *settings, Buffer *out);
