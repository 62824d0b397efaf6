/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/common_options.h"

#include <string.h>

#include "client/wire/wire.h"
#include "document/condition.h"
#include "util/utf8.h"

#define CONDITIONS_MAX 16U

_Static_assert(JOB_LABELS_MAX <= OPTION_TEXTS_MAX && CONDITIONS_MAX <= OPTION_TEXTS_MAX,
               "OptionTexts holds fewer values than --label takes");

const Option global_options[] = {
        { "help", 'h', NULL, "Show this help", OPTION_FLAG(GlobalOptions, help) },
        { "no-color", 0, NULL, "Print no colors; the same as NO_COLOR=1", OPTION_FLAG(GlobalOptions, no_color) },
        { "socket", 0, "PATH", "perfd's socket (default " WIRE_SOCKET_DEFAULT ")", OPTION_TEXT(GlobalOptions, socket),
          .value = OPTION_VALUE_FILE },
        { "http-socket", 0, "PATH", "perfd's HTTP socket (default http.sock in the directory of --socket)",
          OPTION_TEXT(GlobalOptions, http_socket), .value = OPTION_VALUE_FILE },
        {},
};

const Option job_argument_options[] = {
        OPTION_ROW_JOB(GlobalOptions, job),
        {},
};

const Option place_options[] = {
        { "rank", 'r', "N", "Rank of this process in a parallel run, from 0", OPTION_NUMBER(PlaceOptions, rank, 0, INT64_MAX) },
        { "ranks", 0, "N", "Number of ranks of the run", OPTION_COUNT(PlaceOptions, n_ranks, 1, INT32_MAX) },
        { "node", 0, "I", "Index of this node in the run, from 0", OPTION_NUMBER(PlaceOptions, node, 0, INT32_MAX - 1) },
        { "nodes", 0, "N", "Number of nodes of the run", OPTION_COUNT(PlaceOptions, n_nodes, 1, INT32_MAX) },
        {},
};

const Option selection_options[] = {
        OPTION_ROW_WHERE(SelectionOptions, where, CONDITIONS_MAX),
        OPTION_ROW_SINCE(SelectionOptions, since_ns),
        { "until", 0, "TIME", "Select results older than TIME", OPTION_AGE(SelectionOptions, until_ns) },
        {},
};

const Option failed_run_options[] = {
        { "indicator", 'i', "NAME", "Name to record for runs that fail before printing one", OPTION_LINE(FailedRunOptions, indicator, JOB_TEXT_MAX - 1) },
        OPTION_ROW_COMPONENT(FailedRunOptions, component),
        {},
};

const Option spool_options[] = {
        OPTION_ROW_TIMEOUT(SpoolOptions, timeout_ns),
        OPTION_ROW_SPOOL(SpoolOptions, spool),
        OPTION_ROW_JSON(SpoolOptions, json),
        {},
};

const Option timeout_options[] = {
        OPTION_ROW_TIMEOUT(TimeoutOptions, timeout_ns),
        {},
};

const Option json_options[] = {
        OPTION_ROW_JSON(JsonOptions, json),
        {},
};

/* which: index, from 0. n_all: total number, 0 if not given. */
static int check_place(const char *name, const OptionNumber *which, const char *all_name, uint64_t n_all,
                       char ret_error[static OPTION_ERROR_MAX]) {
        if (!which->is_given || n_all == 0 || which->value < n_all)
                return 0;

        snprintf(ret_error, OPTION_ERROR_MAX, "--%s %ju is out of range: --%s %ju allows 0 to %ju", name,
                 (uintmax_t)which->value, all_name, (uintmax_t)n_all, (uintmax_t)n_all - 1);
        return OPTION_WRONG;
}

int common_options_check_place(const PlaceOptions *place, char ret_error[static OPTION_ERROR_MAX]) {
        return check_place("rank", &place->rank, "ranks", place->n_ranks, ret_error) ?:
               check_place("node", &place->node, "nodes", place->n_nodes, ret_error);
}

int option_parse_job_id(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        if (!indicator_name_is_valid(value, JOB_ID_MAX - 1))
                return option_refuse(option, value, "1 to 128 characters of [A-Za-z0-9_.:-]", ret_error);

        *(const char **)place = value;
        return 0;
}

int option_parse_label(const Option *option, const char *value, void *place, char ret_error[static OPTION_ERROR_MAX]) {
        const JobLabel *limits = NULL;
        const OptionTexts *labels = place;
        const char *equals = strchr(value, '=');
        char key[sizeof(limits->key)];
        size_t n = equals ? (size_t)(equals - value) : 0;

        if (n == 0 || n >= sizeof(key) || strlen(equals + 1) >= sizeof(limits->value))
                return option_refuse(option, value, "KEY=VALUE with up to 64 and 256 bytes", ret_error);

        memcpy(key, value, n);
        key[n] = '\0';
        if (!indicator_name_is_valid(key, sizeof(key) - 1))
                return option_refuse(option, value, "a KEY of [A-Za-z0-9_.:-]", ret_error);
        if (!utf8_is_line(equals + 1))
                return option_refuse(option, value, "a VALUE of UTF-8 without control characters", ret_error);
        for (size_t i = 0; i < labels->n; i++)
                if (strncmp(labels->items[i], value, n + 1) == 0)
                        return option_refuse(option, value, "each KEY once", ret_error);

        return option_add_text(option, value, place, ret_error);
}

int option_parse_condition(const Option *option, const char *value, void *place,
                           char ret_error[static OPTION_ERROR_MAX]) {
        Condition condition;

        switch (condition_parse(value, &condition)) {
        case CONDITION_MALFORMED:
                return option_refuse(option, value, "KEY=VALUE, or with != < <= > >=", ret_error);
        case CONDITION_WITHOUT_ORDER:
                return option_refuse(option, value,
                                     "a number, a version such as 1.2 or v1.2-rc1, or a time after < and >", ret_error);
        }

        return option_add_text(option, value, place, ret_error);
}
