/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selection/selection.h"

#include <assert.h>
#include <string.h>

#include "document/indicator.h"
#include "http/pagination.h"

static int conditions_parse(const Target *target, Response *response, Condition *ret, size_t *ret_n) {
        size_t n = 0;

        for (size_t i = 0; i < target->n_parameters; i++) {
                const char *value = target->parameters[i].value;
                int r;

                if (strcmp(target->parameters[i].name, "where") != 0)
                        continue;
                if (n == CONDITIONS_MAX)
                        return exchange_error(response, 400, "query parameter 'where' is given more than %u times",
                                              CONDITIONS_MAX);

                r = condition_parse(value, &ret[n++]);
                if (r == CONDITION_WITHOUT_ORDER)
                        return exchange_error(response, 400,
                                              "query parameter 'where' requires a number, a version such as 1.2 or "
                                              "v1.2-rc1, or a time after < or >, not '%s'", value);
                if (r != 0)
                        return exchange_error(response, 400,
                                              "query parameter 'where' must be KEY=VALUE, or with != < <= > >=, not "
                                              "'%s'", value);
        }

        *ret_n = n;
        return 0;
}

/* Returns the component if the selection is limited to one. */
static const char *find_component(const Selection *selection) {
        const char *found = NULL;

        for (size_t i = 0; i < selection->filter.n_conditions; i++)
                if (selection->conditions[i].relation == CONDITION_EQUAL &&
                    strcmp(selection->conditions[i].key, "component") == 0) {
                        if (found) /* one of several */
                                return NULL;
                        found = selection->conditions[i].value;
                }
        return found;
}

int selection_parse(const Target *target, Response *response, const char *name, Selection *ret) {
        int r;

        *ret = (Selection){};
        if (name && !indicator_name_is_valid(name, NAME_MAX_BYTES))
                return exchange_error(response, 400, "indicator name must be 1 to %u characters of A-Z a-z 0-9 _ . : -",
                                      NAME_MAX_BYTES);

        ret->filter = (PointFilter){
                .name = name,
                .component = exchange_parameter(target, "component"),
                .version = exchange_parameter(target, "version"),
                .conditions = ret->conditions,
                .numbers = ret->numbers,
                .sees_all = target->viewer.sees_all,
                .viewer = exchange_uid(target),
        };
        r = pagination_parse_times(target, response, &ret->filter.since_ms, &ret->filter.until_ms);
        if (r == 0)
                r = conditions_parse(target, response, ret->conditions, &ret->filter.n_conditions);
        if (r == 0 && !ret->filter.component)
                ret->filter.component = find_component(ret);
        return r;
}

int selection_add_number(Response *response, const char *key, Selection *selection, size_t *ret) {
        size_t i;

        assert(selection->filter.numbers == selection->numbers); /* the selection was not moved */
        for (i = 0; i < selection->filter.n_numbers; i++)
                if (strcmp(selection->numbers[i], key) == 0)
                        break;
        if (i == POINT_NUMBERS_MAX)
                return exchange_error(response, 400, "a request may name at most %u results", POINT_NUMBERS_MAX);
        if (i == selection->filter.n_numbers) {
                selection->numbers[i] = key;
                selection->filter.n_numbers++;
        }

        *ret = i;
        return 0;
}

static int add_stat(Response *response, const char *text, size_t n, Selection *selection) {
        Aggregate *aggregate = &selection->stats[selection->n_stats];
        int r;

        if (selection->n_stats == STATS_MAX)
                return exchange_error(response, 400, "query parameter 'stat' has more than %u items", STATS_MAX);
        if (aggregate_parse(text, n, aggregate) != 0)
                return exchange_error(response, 400,
                                      "query parameter 'stat' must be a list such as median:rate,p95:elapsed, of n "
                                      "mean median sd standard_error min max q1 q3 iqr cov covm skew or p0 to p100, "
                                      "with the name of a result, not '%.*s'",
                                      (int)n, text);

        for (size_t i = 0; i < selection->n_stats; i++)
                if (strcmp(selection->stats[i].text, aggregate->text) == 0)
                        return exchange_error(response, 400, "query parameter 'stat' names '%s' twice",
                                              aggregate->text);

        r = selection_add_number(response, aggregate->key, selection, &selection->number_of_stat[selection->n_stats]);
        if (r == 0)
                selection->n_stats++;
        return r;
}

int selection_parse_stats(Response *response, const char *text, Selection *selection) {
        int r = 0;

        while (r == 0 && text) {
                size_t n = condition_key_length(text, ",");

                /* Each group contains its number of results in any case. */
                if (!(n == 1 && text[0] == 'n'))
                        r = add_stat(response, text, n, selection);
                text = text[n] ? text + n + 1 : NULL;
        }
        return r;
}

int selection_parse_fields(Response *response, const char *parameter, const char *text, FieldList *ret) {
        while (text) {
                size_t n = condition_key_length(text, ",");

                if (ret->n == FIELDS_MAX)
                        return exchange_error(response, 400, "query parameter '%s' has more than %u items", parameter,
                                              FIELDS_MAX);
                if (condition_read_key(text, n, ret->names[ret->n]) != 0)
                        return exchange_error(response, 400,
                                              "query parameter '%s' must be a list of component, version, hardware and "
                                              "names of parameters, not '%.*s'",
                                              parameter, (int)n, text);
                for (size_t i = 0; i < ret->n; i++)
                        if (strcmp(ret->names[i], ret->names[ret->n]) == 0)
                                return exchange_error(response, 400, "query parameter '%s' names '%.*s' twice",
                                                      parameter, (int)n, text);
                ret->n++;
                text = text[n] ? text + n + 1 : NULL;
        }
        return 0;
}

bool selection_has_field(const Selection *selection, const char *name) {
        for (size_t i = 0; i < selection->fields.n; i++)
                if (strcmp(selection->fields.names[i], name) == 0)
                        return true;
        return false;
}
