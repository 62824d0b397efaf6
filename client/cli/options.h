/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of a command line, as tables of rows
 *
 * A row names an option, its parser and the member of the command's own struct that receives the value. A table ends with {} and may
 * include the table of a group that several commands share. Option names are never abbreviated, so that a new option cannot change
 * the meaning of an existing script.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 64U      /* of a command, included tables and global options counted */
#define OPTION_ERROR_MAX 320U
#define OPTION_TEXTS_MAX 64U /* values of an option that may be repeated */

/* Kind of candidates for completing an option's value or a command's argument. */
typedef enum OptionValue {
        OPTION_VALUE_OTHER,
        OPTION_VALUE_FILE,
        OPTION_VALUE_DIRECTORY,
        OPTION_VALUE_PROGRAM,
        OPTION_VALUE_VARIABLE,
        OPTION_VALUE_JOB,
        OPTION_VALUE_INDICATOR,
        OPTION_VALUE_UID,
        OPTION_VALUE_PID,
        N_OPTION_VALUES,
} OptionValue;

typedef struct Option Option;

/* Stores a value in `place`, the member that the row names. value: NULL for a flag. 0, or OPTION_WRONG with a sentence in ret_error. */
typedef int OptionParse(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]);

enum {
        OPTION_WRONG = 1,
};

struct Option {
        const char *name;
        char letter;           /* 0: none */
        const char *argument;  /* placeholder, as "SECONDS"; NULL for a flag */
        const char *help;      /* values and default are added from the members below */
        OptionParse *parse;
        size_t offset;         /* of the member in the command's struct */
        const Option *rows;    /* an included table in place of an option */
        uint64_t min, max;     /* of a number; max is the most bytes of a line, or the most texts */
        const char *const *words; /* of a choice, ends with NULL */
        const char *initial;   /* value of an option that is not given, parsed before the command line; NULL: zero */
        OptionValue value;     /* of a flag: what the command's arguments are when the flag is given */
};

/* A number for which no value can stand for "not given". */
typedef struct OptionNumber {
        bool is_given;
        uint64_t value;
} OptionNumber;

/* Borrowed from the command line. */
typedef struct OptionTexts {
        const char *items[OPTION_TEXTS_MAX];
        size_t n;
} OptionTexts;

/* The offset of a member; does not compile unless the member has the type that the row's parser stores. */
#define OPTION_PLACE(type, member, stored) (offsetof(type, member) + 0 * sizeof(char[_Generic(((type *)0)->member, stored: 1)]))

/* The end of each row: parser, place and limits. */
#define OPTION_FLAG(type, member) .parse = option_parse_flag, .offset = OPTION_PLACE(type, member, bool)
#define OPTION_TEXT(type, member) .parse = option_parse_text, .offset = OPTION_PLACE(type, member, const char *)
#define OPTION_LINE(type, member, n_max) .parse = option_parse_line, .offset = OPTION_PLACE(type, member, const char *), .max = (n_max)
#define OPTION_CHOICE(type, member, ...) \
        .parse = option_parse_choice, .offset = OPTION_PLACE(type, member, const char *), \
        .words = (const char *const[]){ __VA_ARGS__, NULL }
#define OPTION_COUNT(type, member, least, most) \
        .parse = option_parse_count, .offset = OPTION_PLACE(type, member, uint64_t), .min = (least), .max = (most)
#define OPTION_NUMBER(type, member, least, most) \
        .parse = option_parse_number, .offset = OPTION_PLACE(type, member, OptionNumber), .min = (least), .max = (most)
#define OPTION_DURATION(type, member, least_ns) \
        .parse = option_parse_duration, .offset = OPTION_PLACE(type, member, uint64_t), .min = (least_ns)
#define OPTION_AGE(type, member) .parse = option_parse_age, .offset = OPTION_PLACE(type, member, OptionNumber)
#define OPTION_TEXTS(type, member, n_max, parser) .parse = (parser), .offset = OPTION_PLACE(type, member, OptionTexts), .max = (n_max)
#define OPTION_INCLUDE(type, member, group, table) { .rows = (table), .offset = OPTION_PLACE(type, member, group) }

OptionParse option_parse_flag, option_parse_text, option_parse_line, option_parse_choice, option_parse_count, option_parse_number,
        option_parse_duration, option_parse_age;

/* For parsers of a command's own: writes "--NAME expects EXPECTED, not 'VALUE'" and returns OPTION_WRONG. */
int option_refuse(const Option *option, const char *value, const char *expected, char ret_error[static OPTION_ERROR_MAX]);
/* Appends a checked value; OPTION_WRONG beyond option->max. */
int option_add_text(const Option *option, const char *value, OptionTexts *texts, char ret_error[static OPTION_ERROR_MAX]);

/* --- tables --------------------------------------------------------------------------------------- */

/* An option and the struct that it is stored in. */
typedef struct OptionEntry {
        const Option *option;
        char *base;    /* NULL when nothing is to be parsed */
        size_t offset; /* within it */
} OptionEntry;

/* All options of one command. */
typedef struct OptionTable {
        OptionEntry entries[OPTIONS_MAX];
        size_t n;
} OptionTable;

/* Adds a table, the tables it includes and, unless base is NULL, stores the initial values in the struct at `base`. */
void option_table_add(OptionTable *table, const Option *rows, void *base);
/* By name, of n bytes, or by letter. NULL: no such option. */
const OptionEntry *option_table_find(const OptionTable *table, const char *name, size_t n);
const OptionEntry *option_table_find_letter(const OptionTable *table, char letter);

typedef struct Arguments {
        char **items; /* what is not an option; ends with NULL */
        int n;
        int n_before_dashes; /* how many of them stood before `--`; -1: there was none */
} Arguments;

/*
 * Parses argv[1…]. Options may stand anywhere before `--`; with stop_early, parsing stops at the first non-option. The arguments are
 * moved to the front of argv, argv[0] included. command: as error messages call it. 0, or OPTION_WRONG with a sentence in ret_error.
 */
int options_parse(const OptionTable *table, const char *command, int argc, char **argv, bool stop_early, Arguments *ret,
                  char ret_error[static OPTION_ERROR_MAX]);
