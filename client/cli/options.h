/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of a command line, described by tables
 *
 * A row names an option, its parser and the member of the command's struct that receives the value. A table ends with
 * {}, and may include the table of a group that several commands share. Option names cannot be abbreviated, so that a
 * new option cannot change the meaning of an existing script.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 64U      /* maximum number of options of a command, including included tables and global options */
#define OPTION_ERROR_MAX 320U
#define OPTION_TEXTS_MAX 64U /* maximum number of values of a repeatable option */

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

/*
 * Stores a value in `place`, the member that the row names. value: NULL for a flag. Returns 0, or OPTION_WRONG with a
 * message in ret_error.
 */
typedef int OptionParse(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]);

enum {
        OPTION_WRONG = 1,
};

struct Option {
        const char *name;
        char letter;           /* 0 if there is none */
        const char *argument;  /* placeholder, for example "SECONDS"; NULL for a flag */
        const char *help;      /* allowed values and the default are appended from the members below */
        OptionParse *parse;
        size_t offset;         /* of the member in the command's struct */
        const Option *rows;    /* a table to include; then the row is not an option */
        uint64_t min, max;     /* limits of a number; for a text, max is the maximum length in bytes; for texts, their
                                * maximum number */
        const char *const *words; /* allowed words of a choice, NULL-terminated */
        const char *initial;   /* default, parsed before the command line; NULL: zero */
        const char *parameter; /* of a query of the HTTP API, which the option sets; NULL: the option's name */
        OptionValue value;     /* of a flag: kind of the command's arguments if the flag is given */
};

/* A number and whether it was given: every value is valid. */
typedef struct OptionNumber {
        bool is_given;
        uint64_t value;
} OptionNumber;

/* Borrowed from the command line. */
typedef struct OptionTexts {
        const char *items[OPTION_TEXTS_MAX];
        size_t n;
} OptionTexts;

/* The digits of a constant, for a help text. */
#define OPTION_DIGITS(constant) OPTION_DIGITS_(constant)
#define OPTION_DIGITS_(digits) #digits

/* Offset of a member. Fails to compile if the member's type is not the type that the row's parser stores. */
#define OPTION_PLACE(type, member, stored)                                                                             \
        (offsetof(type, member) + 0 * sizeof(char[_Generic(((type *)0)->member, stored : 1)]))

/* Second half of a row: parser, offset and limits. */
#define OPTION_FLAG(type, member) .parse = option_parse_flag, .offset = OPTION_PLACE(type, member, bool)
#define OPTION_TEXT(type, member) .parse = option_parse_text, .offset = OPTION_PLACE(type, member, const char *)
#define OPTION_LINE(type, member, n_max)                                                                               \
        .parse = option_parse_line, .offset = OPTION_PLACE(type, member, const char *), .max = (n_max)
#define OPTION_CHOICE(type, member, ...) \
        .parse = option_parse_choice, .offset = OPTION_PLACE(type, member, const char *), \
        .words = (const char *const[]){ __VA_ARGS__, NULL }
/* A choice of the names in an array that ends with NULL. */
#define OPTION_NAME(type, member, names) \
        .parse = option_parse_choice, .offset = OPTION_PLACE(type, member, const char *), .words = (names)
#define OPTION_COUNT(type, member, least, most) \
        .parse = option_parse_count, .offset = OPTION_PLACE(type, member, uint64_t), .min = (least), .max = (most)
#define OPTION_NUMBER(type, member, least, most) \
        .parse = option_parse_number, .offset = OPTION_PLACE(type, member, OptionNumber), .min = (least), .max = (most)
#define OPTION_DURATION(type, member, least_ns) \
        .parse = option_parse_duration, .offset = OPTION_PLACE(type, member, uint64_t), .min = (least_ns)
#define OPTION_AGE(type, member) .parse = option_parse_age, .offset = OPTION_PLACE(type, member, OptionNumber)
#define OPTION_TEXTS(type, member, n_max, parser)                                                                      \
        .parse = (parser), .offset = OPTION_PLACE(type, member, OptionTexts), .max = (n_max)
/* A list with commas between; may be repeated, each value a list that continues the former. */
#define OPTION_LIST(type, member) OPTION_TEXTS(type, member, OPTION_TEXTS_MAX, option_parse_list)
#define OPTION_INCLUDE(type, member, group, table) { .rows = (table), .offset = OPTION_PLACE(type, member, group) }

OptionParse option_parse_flag, option_parse_text, option_parse_line, option_parse_choice, option_parse_count,
        option_parse_number, option_parse_duration, option_parse_age, option_parse_list;

/* For a command's own parsers: writes "--NAME expects EXPECTED, not 'VALUE'" and returns OPTION_WRONG. */
int option_refuse(const Option *option, const char *value, const char *expected,
                  char ret_error[static OPTION_ERROR_MAX]);
/* Appends a validated value. Returns OPTION_WRONG if there are already option->max values. */
int option_add_text(const Option *option, const char *value, OptionTexts *texts,
                    char ret_error[static OPTION_ERROR_MAX]);

/* --- tables --------------------------------------------------------------------------------------- */

/* An option, and the struct that receives its value. */
typedef struct OptionEntry {
        const Option *option;
        char *base;    /* NULL if nothing is parsed */
        size_t offset; /* of the member in the struct */
} OptionEntry;

/* All options of one command. */
typedef struct OptionTable {
        OptionEntry entries[OPTIONS_MAX];
        size_t n;
} OptionTable;

/*
 * Adds a table and the tables that it includes. Stores the initial values in the struct at `base`, unless base is
 * NULL.
 */
void option_table_add(OptionTable *table, const Option *rows, void *base);
/* Finds an option by its name of n bytes or by its letter; NULL if there is none. */
const OptionEntry *option_table_find(const OptionTable *table, const char *name, size_t n);
const OptionEntry *option_table_find_letter(const OptionTable *table, char letter);

typedef struct Arguments {
        char **items; /* arguments that are not options; NULL-terminated */
        int n;
        int n_before_dashes; /* number of arguments before `--`; -1: no `--` */
} Arguments;

/*
 * Parses argv[1…]. Options may be anywhere before `--`; with stop_early, parsing stops at the first non-option. The
 * arguments are moved to the front of argv, argv[0] included. command: name for error messages. Returns 0, or
 * OPTION_WRONG with a message in ret_error.
 */
int options_parse(const OptionTable *table, const char *command, int argc, char **argv, bool stop_early, Arguments *ret,
                  char ret_error[static OPTION_ERROR_MAX]);
