/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Property: declaration of a parameter or a result in a model
 *
 * perfd-indicators(5) describes the members. Strings and values are borrowed from the tree of the declaration.
 */

#include <stdbool.h>

#include "document/display.h"
#include "document/model_reader.h"
#include "value/value.h"

#define HELP_MAX_BYTES 4096U

/* A property may have several types: padding may be an int in one result and a string in another. */
typedef enum PropertyType {
        PROPERTY_STR = 1,
        PROPERTY_INT = 2,
        PROPERTY_FLOAT = 4, /* includes integers */
        PROPERTY_BOOL = 8,
        PROPERTY_SEMVER = 16, /* for parameters: a semantic version, see version.h */
        PROPERTY_TIME = 32,   /* for parameters: a time, see clock_parse_utc() */
        PROPERTY_MAP = 64,    /* for parameters: an object */
        PROPERTY_LIST = 128,  /* for results: a list of numbers */
} PropertyType;

/* Index of a parameter: none, or an index of the store. */
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
        DIRECTION_NONE,   /* declared: neither is better */
} Direction;

typedef struct Property {
        const char *name;
        unsigned types;       /* bits of PropertyType; 0: any type */
        PropertyIndex index;  /* for parameters; INDEX_NONE for results */
        bool is_result;
        bool is_optional;     /* a missing value or null is not a deviation */
        bool is_ignored_for_regression; /* for results: changes are not judged */
        const char *unit;     /* for results; NULL: not declared */
        Direction direction;  /* for results */
        Display display;      /* for results: how a value is shown */
        /* for results: expression of a derived number, see expression.h; NULL: the result is measured */
        const char *from;
        const Value *allowed; /* list of the allowed values; NULL: all */
        const char *help;     /* NULL: none */
} Property;

/* Reads NAME: int, NAME: [int, str], or NAME: {type: int, …} into *ret, of which is_result is set. 0 or
 * MODEL_INVALID. */
int property_take(ModelReader *reader, const Member *member, Property *ret);

/* True for the names by which TOPSAIL identifies a run, such as run_id: results that differ in them have the same
 * history, whatever a model declares. */
bool property_identifies_run(const char *name);

/* Returns a text, such as that of a label, as a value of one of the types of the parameter; borrowed. */
Value property_value_of(const Property *property, const char *text);

/* True if the value is of one of the types, bits of PropertyType. */
bool property_is_of_types(const Value *value, unsigned wanted);

/* Writes "str", "int or str", or "any type" into ret. */
#define PROPERTY_TYPES_TEXT_MAX 80
void property_types_text(unsigned types, char ret[static PROPERTY_TYPES_TEXT_MAX]);
const char *property_index_text(PropertyIndex index); /* Returns "exact" and so on, as declared. */
const char *property_direction_text(Direction direction); /* Returns "higher", "lower" or "none"; NULL: unknown. */
Direction property_direction_find(const char *word);      /* Returns DIRECTION_UNKNOWN if the word is none of them. */
