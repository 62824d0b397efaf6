/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IndicatorModel: what an indicator's parameters and results are
 *
 * Declared in a file (perfd-indicators(5)) or over the wire, as a tree of Values either way. A model says types, units,
 * which direction is better, and which parameters results are searched by. It judges documents: by default what it does not know is
 * kept and counted, and with the policy `strict` refused.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator.h"
#include "document/value.h"
#include "util/arena.h"

#define MODEL_PROPERTIES_MAX 256U
#define MODEL_ANY_NAME "*" /* name of a model of all indicators of its component that have no other model */

/* A property may have several: padding is an int here and a string there. */
typedef enum PropertyType {
        PROPERTY_STR = 1,
        PROPERTY_INT = 2,
        PROPERTY_FLOAT = 4, /* an integer is one as well */
        PROPERTY_BOOL = 8,
} PropertyType;

/* How results are found by it: not at all, or in an index of the store. */
typedef enum PropertyIndex {
        INDEX_NONE,
        INDEX_EXACT, /* as text */
        INDEX_INT,
        INDEX_FLOAT,
} PropertyIndex;

typedef enum Direction {
        DIRECTION_UNKNOWN,
        DIRECTION_HIGHER, /* is better */
        DIRECTION_LOWER,
} Direction;

typedef struct Property {
        const char *name;
        unsigned types;       /* of PropertyType; 0: any */
        PropertyIndex index;  /* of parameters; INDEX_NONE for results */
        bool is_result;
        bool is_optional;     /* nothing is odd where it is missing */
        const char *unit;     /* of results; NULL: not declared, and never guessed from the name */
        Direction direction;  /* of results */
        const Value *allowed; /* a list of the values it may have; NULL: any */
        const char *help;     /* NULL: none */
} Property;

/* Strings and values are borrowed from the tree it was made of. */
typedef struct IndicatorModel {
        const char *name;
        const char *component; /* NULL: whatever was measured */
        const char *help;      /* NULL: none */
        Property *properties;  /* parameters first, each in the order of the declaration */
        const Property **by_name; /* the same, sorted: no name is there twice, not as parameter and result either */
        size_t n_properties;
        const Value *document; /* as it was declared */
} IndicatorModel;

enum {
        MODEL_INVALID = 1,
};

/* Memory that the properties of a model take in an arena at most, beside its tree. */
#define MODEL_ARENA_BYTES (MODEL_PROPERTIES_MAX * (sizeof(Property) + sizeof(Property *)) + 64)

/* 0, MODEL_INVALID with the first complaint ("parameters.reps.type"), or -ENOMEM when the arena, which has the properties, is full. */
int indicator_model_from_value(const Value *document, Arena *arena, IndicatorModel *ret, Complaint *ret_complaint);

/* NULL when it declares no such parameter (or result). */
const Property *indicator_model_find(const IndicatorModel *model, const char *name, bool is_result);

/* "str", "int or str", "any type": into ret. */
#define PROPERTY_TYPES_TEXT_MAX 32
void indicator_model_types_text(unsigned types, char ret[static PROPERTY_TYPES_TEXT_MAX]);
const char *indicator_model_index_text(PropertyIndex index); /* "exact", … as declared */
const char *indicator_model_direction_text(Direction direction);      /* "higher", "lower"; NULL: unknown */

typedef enum ModelPolicy {
        MODEL_ACCEPT, /* what the model does not know, or says differently, is kept whole and counted */
        MODEL_STRICT, /* it is refused, with the key */
} ModelPolicy;

/*
 * Does an indicator keep to its model? *ret_n_odd: keys that are unknown, missing though not optional, or of another type.
 * 0, or MODEL_INVALID with the first complaint (strict only).
 */
int indicator_model_judge(const IndicatorModel *model, const Indicator *indicator, ModelPolicy policy, size_t *ret_n_odd,
                          Complaint *ret_complaint);
