/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "client/format/format.h"
#include "document/condition.h"
#include "document/indicator.h"
#include "document/path.h"
#include "util/scoped.h"

#define DIRECTORY "/etc/perfd/formats.d"
#define STEPS_MAX 16U

/* True for a path, which may end with ?. is_each: [*] has no meaning. */
static bool is_path(const char *path, bool is_each) {
        const char *p = path;
        size_t n = 0;

        for (PathStep step; (step = path_next(path, &p)).kind != PATH_END; n++)
                if (step.kind == PATH_WRONG || (is_each && step.kind == PATH_PRODUCT) || n == STEPS_MAX)
                        return false;
        return n > 0 && (!*p || (!is_each && strcmp(p, "?") == 0));
}

static int parse_path(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        bool is_each = strcmp(option->name, "each") == 0;

        if (!is_path(value, is_each))
                return option_refuse(option, value, "a path such as a.b, a[0].b, a[].b or \"a-b\"", ret_error);
        if (is_each)
                return option_add_text(option, value, place, ret_error);
        *(const char **)place = value;
        return 0;
}

static int add_regex(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        return option_add_text(option, value, place, ret_error);
}

/* NAME=PATH, or NAME=TEXT for --unit. */
static int parse_pair(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        size_t n = strcspn(value, "=");
        bool is_whole = n > 0 && n <= KEY_MAX_BYTES && value[n] && value[n + 1];

        if (!is_whole || (strcmp(option->name, "unit") != 0 && !is_path(value + n + 1, false)))
                return option_refuse(option, value, strcmp(option->name, "unit") == 0 ? "NAME=UNIT" :
                                     "NAME=PATH, a path such as a.b, a[0].b, a[].b or \"a-b\"", ret_error);
        return option_add_text(option, value, place, ret_error);
}

/* NAME=CONDITION */
static int parse_result_where(const Option *option, const char *value, void *place,
                              char ret_error[static OPTION_ERROR_MAX]) {
        size_t n = strcspn(value, "=");
        Condition condition;

        if (n == 0 || !value[n] || condition_parse(value + n + 1, &condition) != 0)
                return option_refuse(option, value, "NAME=CONDITION, as in read_*=read.total_ios!=0", ret_error);
        return option_add_text(option, value, place, ret_error);
}

#define PATH_ROW(member) .parse = parse_path, .offset = OPTION_PLACE(FormatOptions, member, const char *)
#define PAIRS_ROW(member) OPTION_TEXTS(FormatOptions, member, OPTION_TEXTS_MAX, parse_pair)

const Option format_options[] = {
        { "from", 0, "FORMAT", "Read the output of another program: a format of formats.d, or a file", OPTION_TEXT(FormatOptions, from),
          .value = OPTION_VALUE_FILE },
        { "each", 0, "PATH", "Elements of JSON that are a document each; may be repeated: the first that fits counts",
          OPTION_TEXTS(FormatOptions, each, OPTION_TEXTS_MAX, parse_path) },
        { "line", 0, "REGEX", "Lines that are a document each, with named groups; may be repeated",
          OPTION_TEXTS(FormatOptions, lines, OPTION_TEXTS_MAX, add_regex) },
        { "heading", 0, "REGEX", "Lines whose named groups belong to the lines below; may be repeated",
          OPTION_TEXTS(FormatOptions, headings, OPTION_TEXTS_MAX, add_regex) },
        { "component-from", 0, "PATH", "Measured component, within an element", PATH_ROW(component_from) },
        { "version-from", 0, "PATH", "Version of the measured component", PATH_ROW(version_from) },
        { "time-from", 0, "PATH", "Time of the result", PATH_ROW(time_from) },
        { "parameter-from", 0, "NAME=PATH", "Parameter; may be repeated", PAIRS_ROW(parameters) },
        { "result-from", 0, "NAME=PATH", "Result; may be repeated", PAIRS_ROW(results) },
        { "unit", 0, "NAME=UNIT", "Unit of a result; may be repeated", PAIRS_ROW(units) },
        { "unit-from", 0, "NAME=PATH", "Unit of a result; may be repeated", PAIRS_ROW(units_from) },
        OPTION_ROW_WHERE(FormatOptions, where, OPTION_TEXTS_MAX),
        { "result-where", 0, "NAME=CONDITION", "Only with the condition is a result one; may be repeated",
          OPTION_TEXTS(FormatOptions, results_where, OPTION_TEXTS_MAX, parse_result_where) },
        {},
};

/* Options of a file besides these. */
static const Option head_options[] = {
        { "indicator", 0, "NAME", "Name of the indicator", OPTION_LINE(OutputFormat, indicator, NAME_MAX_BYTES) },
        { "component", 0, "NAME", "Component where none is found", OPTION_LINE(OutputFormat, default_component, COMPONENT_MAX_BYTES) },
        OPTION_INCLUDE(OutputFormat, options, FormatOptions, format_options),
        {},
};

bool format_is_given(const FormatOptions *options) {
        const char *texts[] = { options->from, options->component_from, options->version_from,
                                options->time_from };
        bool is_given = options->lines.n + options->headings.n + options->parameters.n + options->results.n +
                                options->units.n + options->units_from.n + options->where.n + options->each.n +
                                options->results_where.n >
                        0;

        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                is_given |= texts[i] != NULL;
        return is_given;
}

/* --- the file ------------------------------------------------------------------------------------- */

/* A name is that of a file in $PERFD_FORMATS, in the system's directory, or beside a perfctl that is not installed. */
static void find_file(const char *name, char ret[static PATH_MAX]) {
        const char *variable = getenv("PERFD_FORMATS");
        char program[PATH_MAX / 2], beside[PATH_MAX], lower[NAME_MAX_BYTES + 1] = "";
        ssize_t n;

        (void)snprintf(ret, PATH_MAX, "%s", name);
        if (strchr(name, '/'))
                return;
        for (size_t i = 0; i < sizeof(lower) - 1 && name[i]; i++)
                lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
        (void)snprintf(ret, PATH_MAX, "%s/%s.conf", variable ?: DIRECTORY, lower);
        if (variable || access(ret, F_OK) == 0)
                return;
        n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[n > 0 ? n : 0] = '\0';
        if (!strrchr(program, '/'))
                return;
        *strrchr(program, '/') = '\0';
        (void)snprintf(beside, sizeof(beside), "%s/../conf/formats.d", program);
        if (access(beside, F_OK) == 0)
                (void)snprintf(ret, PATH_MAX, "%s/../conf/formats.d/%s.conf", program, lower);
}

static char *strip(char *text) {
        char *end = text + strlen(text);

        while (end > text && strchr(" \t", end[-1]))
                *--end = '\0';
        return text + strspn(text, " \t");
}

/* Parses "option = value", or a comment. */
static int take_line(const OptionTable *table, char *line, char ret_error[static OPTION_ERROR_MAX]) {
        char *equals = strchr(line, '='), *value;
        const OptionEntry *entry;

        line = strip(line);
        if (!*line || *line == '#')
                return 0;
        value = equals ? strip(equals + 1) : line;
        if (equals)
                *equals = '\0';
        line = strip(line);
        entry = option_table_find(table, line, strlen(line));
        if (equals && *value && entry && strcmp(line, "from") != 0)
                return entry->option->parse(entry->option, value, entry->base + entry->offset, ret_error);
        (void)snprintf(ret_error, OPTION_ERROR_MAX,
                       "expected an option of a format, as in result-from = seconds=mean, not '%.80s'", line);
        return OPTION_WRONG;
}

/* Prints the names of the formats beside a file that does not exist. */
static int refuse_name(const char *name, char *path) {
        scoped(buffer_deinit) Buffer names = {};
        struct dirent **entries;
        int n;

        *strrchr(path, '/') = '\0';
        n = scandir(path, &entries, NULL, alphasort);
        for (int i = 0; i < n; i++) {
                size_t n_name = strlen(entries[i]->d_name);

                if (n_name > 5 && strcmp(entries[i]->d_name + n_name - 5, ".conf") == 0)
                        buffer_printf(&names, "%s%.*s", names.n > 0 ? ", " : "", (int)n_name - 5, entries[i]->d_name);
                free(entries[i]);
        }
        if (n >= 0)
                free(entries);
        message_print("unknown format '%.80s'; %s has %s", name, path, names.text ?: "none");
        return EXIT_USAGE;
}

static int read_file(const char *name, OutputFormat *format) {
        char path[PATH_MAX], error[OPTION_ERROR_MAX];
        OptionTable table = {};
        unsigned n = 0;
        int r;

        find_file(name, path);
        if (!strchr(name, '/') && access(path, F_OK) != 0)
                return refuse_name(name, path);
        r = input_read(path, &format->text);
        if (r != EXIT_DONE)
                return r;
        buffer_puts(&format->text, "");
        if (buffer_error(&format->text) < 0)
                return command_fail(-ENOMEM);
        option_table_add(&table, head_options, format);
        for (char *rest = format->text.text, *line; (line = strsep(&rest, "\n"));) {
                n++;
                if (take_line(&table, line, error) != 0) {
                        message_print("%s:%u: %s", path, n, error);
                        return EXIT_FAILED;
                }
        }
        return EXIT_DONE;
}

/* Appends the options of the command line. */
static bool append(OptionTexts *texts, const OptionTexts *more) {
        for (size_t i = 0; i < more->n; i++) {
                if (texts->n == OPTION_TEXTS_MAX)
                        return false;
                texts->items[texts->n++] = more->items[i];
        }
        return true;
}

/* Returns true if an expression has the group `component`. */
static bool has_component(const OptionTexts *texts) {
        for (size_t i = 0; i < texts->n; i++)
                if (strstr(texts->items[i], "<component>"))
                        return true;
        return false;
}

static int refuse(const char *text) {
        message_print("%s", text);
        return EXIT_USAGE;
}

int format_load(const FormatOptions *given, const char *indicator, const char *component, OutputFormat *ret) {
        FormatOptions *options = &ret->options;
        bool is_whole = true;
        int r = EXIT_DONE;

        *ret = (OutputFormat){};
        if (given->from)
                r = read_file(given->from, ret);
        if (r != EXIT_DONE)
                return r;

        ret->indicator = indicator ?: ret->indicator;
        ret->component = component;
        options->each = given->each.n > 0 ? given->each : options->each;
        options->component_from = given->component_from ?: options->component_from;
        options->version_from = given->version_from ?: options->version_from;
        options->time_from = given->time_from ?: options->time_from;
        is_whole &= append(&options->lines, &given->lines) && append(&options->headings, &given->headings);
        is_whole &= append(&options->parameters, &given->parameters) && append(&options->results, &given->results);
        is_whole &= append(&options->units, &given->units) && append(&options->units_from, &given->units_from);
        is_whole &= append(&options->where, &given->where) && append(&options->results_where, &given->results_where);
        if (!is_whole)
                return refuse("an option is repeated more than " OPTION_DIGITS(64) " times");
        if (!ret->indicator)
                return refuse("a format needs the name of its indicator: add --indicator");
        if (!ret->component && !options->component_from && !ret->default_component &&
            !has_component(&options->lines) && !has_component(&options->headings))
                return refuse(
                        "a format needs a component: add --component, --component-from or a group (?<component>…)");
        if (options->lines.n > 0 && options->each.n > 0)
                return refuse("--each is for JSON, and --line for text: use one of them");
        if (options->headings.n > 0 && options->lines.n == 0)
                return refuse("--heading needs --line");
        if (options->results.n == 0 && options->lines.n == 0)
                return refuse("a format needs at least one result: add --result-from or --line");
        return EXIT_DONE;
}
