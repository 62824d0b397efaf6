/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IndicatorModel: declaration of an indicator's parameters and results
 *
 * A model is declared in a file (perfd-indicators(5)) or registered by a client; both are read as a tree of Values. It declares
 * types, units, which direction is better, and which parameters are indexed. Results are checked by their model: by default,
 * deviations are accepted and counted; with the policy `strict`, they are refused.
 */

#include <stdbool.h>
#include <stddef.h>

#include "document/indicator.h"
#include "document/value.h"
#include "util/arena.h"

#define MODEL_PROPERTIES_MAX 256U
#define MODEL_ANY_NAME "*" /* name of a model of all indicators of its component that have no other model */

/* A property may have several types: padding may be an int in one result and a string in another. */
typedef enum PropertyType {
        PROPERTY_STR = 1,
        PROPERTY_INT = 2,
        PROPERTY_FLOAT = 4, /* includes integers */
        PROPERTY_BOOL = 8,
} PropertyType;

/* How a parameter is indexed: not at all, or in an index of the store. */
typedef enum PropertyIndex {
        INDEX_NONE,
        INDEX_EXACT, /* as text */
        INDEX_INT,
        INDEX_FLOAT,
} PropertyIndex;

typedef enum Direction {
        DIRECTION_UNKNOWN,
        DIRECTION_HIGHER, /* a higher value is better */
        DIRECTION_LOWER,
} Direction;

typedef struct Property {
        const char *name;
        unsigned types;       /* bits of PropertyType; 0: any type */
        PropertyIndex index;  /* for parameters; INDEX_NONE for results */
        bool is_result;
        bool is_optional;     /* a missing value is not a deviation */
        const char *unit;     /* for results; NULL: not declared */
        Direction direction;  /* for results */
        const Value *allowed; /* list of the allowed values; NULL: all */
        const char *help;     /* NULL: none */
} Property;

/* Strings and values are borrowed from the tree from which the model was made. */
typedef struct IndicatorModel {
        const char *name;
        const char *component; /* NULL: all components */
        const char *help;      /* NULL: none */
        Property *properties;  /* parameters first, both in the order of declaration */
        const Property **by_name; /* the same properties sorted by name; names are unique across parameters and results */
        size_t n_properties;
        const Value *document; /* the declaration */
} IndicatorModel;

enum {
        MODEL_INVALID = 1,
};

/* Maximum memory in an arena for the properties of a model, without its tree. */
#define MODEL_ARENA_BYTES (MODEL_PROPERTIES_MAX * (sizeof(Property) + sizeof(Property *)) + 64)

/* Makes a model; the arena receives its properties. 0, MODEL_INVALID with the first complaint ("parameters.reps.type"), or
 * -ENOMEM if the arena is full. */
int indicator_model_from_value(const Value *document, Arena *arena, IndicatorModel *ret, Complaint *ret_complaint);

/* Returns NULL if the model declares no such parameter (or result). */
const Property *indicator_model_find(const IndicatorModel *model, const char *name, bool is_result);

/* Writes "str", "int or str", or "any type" into ret. */
#define PROPERTY_TYPES_TEXT_MAX 32
void indicator_model_types_text(unsigned types, char ret[static PROPERTY_TYPES_TEXT_MAX]);
const char *indicator_model_index_text(PropertyIndex index); /* Returns "exact" and so on, as declared. */
const char *indicator_model_direction_text(Direction direction);      /* Returns "higher" or "lower"; NULL: unknown. */

typedef enum ModelPolicy {
        MODEL_ACCEPT, /* deviations are stored and counted */
        MODEL_STRICT, /* deviations are refused, with the key */
} ModelPolicy;

/* Checks whether an indicator conforms to its model. *ret_n_odd: number of keys that are unknown, missing though not optional,
 * or of another type. 0, or MODEL_INVALID with the first complaint (strict only). */
int indicator_model_judge(const IndicatorModel *model, const Indicator *indicator, ModelPolicy policy, size_t *ret_n_odd,
                          Complaint *ret_complaint);
