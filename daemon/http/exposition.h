/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exposition: metrics as text, in both dialects
 *
 * OpenMetrics 1.0 and Prometheus' text format 0.0.4 differ in what the lines about a family say and in the
 * end; here alone. A family's lines go out with its first sample, so that one without samples leaves no trace.
 *
 *     exposition_family(x, "perfd_node_disk_read_bytes", FAMILY_COUNTER, "bytes", "Read from …");
 *     exposition_sample(x);
 *     exposition_label(x, "device", "sda");
 *     exposition_u64(x, 512);
 *
 * Names are given without _total and _info, a unit is the end of its name. Nothing is allocated but the text.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/buffer.h"

typedef enum FamilyType {
        FAMILY_GAUGE,
        FAMILY_COUNTER,
        FAMILY_INFO, /* labels are all it says; its value is 1 */
} FamilyType;

#define FAMILY_NAME_MAX 96U
#define SAMPLE_SUFFIX_MAX 8U

typedef struct Exposition {
        Buffer *out; /* borrowed */
        bool is_openmetrics;

        char name[FAMILY_NAME_MAX + SAMPLE_SUFFIX_MAX]; /* of the family, and on with what its samples have more */
        size_t n_name, n_sample_name;
        FamilyType type;
        const char *unit, *help;
        bool has_header, has_labels;
} Exposition;

void exposition_init(Exposition *exposition, Buffer *out, bool is_openmetrics);

/* unit: "" for none. unit and help are borrowed until the next family; help has no quote, backslash or newline. */
void exposition_family(Exposition *exposition, const char *name, FamilyType type, const char *unit, const char *help);

/* One sample: begin it, say its labels, and end it with its value. */
void exposition_sample(Exposition *exposition);
void exposition_label(Exposition *exposition, const char *key, const char *value); /* any bytes */
void exposition_label_i64(Exposition *exposition, const char *key, int64_t value);
void exposition_labels(Exposition *exposition, const char *text); /* key="value" pairs, ready made; "" for none */
void exposition_u64(Exposition *exposition, uint64_t value);
void exposition_double(Exposition *exposition, double value);
/* value / 10^n_decimals, exactly: nanoseconds as seconds have 9. */
void exposition_decimal(Exposition *exposition, uint64_t value, unsigned n_decimals);

/* A whole sample with one label. */
void exposition_sample_u64(Exposition *exposition, const char *key, const char *label, uint64_t value);
/* A family of one sample without labels. */
void exposition_single(Exposition *exposition, const char *name, FamilyType type, const char *help, uint64_t value);

void exposition_end(Exposition *exposition);
