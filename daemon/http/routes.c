/* SPDX-License-Identifier: Apache-2.0 */
#include "http/routes.h"

#include <string.h>

#include "http/handlers.h"

static const Route table[] = {
        { "/",                                  "",                                           false, answer_landing },
        { "/jobs/{id}",                         "",                                           false, answer_job_page },
        { "/indicators/{name}",                 "where component version since_ms until_ms objective direction", false,
          answer_indicator_page },
        { "/metrics",                           "collect[]",                                  true,  answer_metrics },
        { "/-/healthy",                         "",                                           false, answer_healthy },
        { "/-/ready",                           "",                                           false, answer_ready },
        { "/api/v1/openapi.json",               "",                                           false, answer_openapi },
        { "/api/v1/node",                       "",                                           true,  answer_node },
        { "/api/v1/node/samples",               "since_ms until_ms limit",                    false, answer_node_samples },
        { "/api/v1/jobs",                       "state name user since_ms until_ms limit page", false, answer_jobs },
        { "/api/v1/jobs/{id}",                  "",                                           false, answer_job },
        { "/api/v1/jobs/{id}/metrics",          "key scope compat names phases",              false, answer_job_metrics },
        { "/api/v1/jobs/{id}/samples",          "",                                           false, answer_job_samples },
        { "/api/v1/indicators",                 "",                                           false, answer_indicators },
        { "/api/v1/indicators/{name}/results",  "where component job since_ms until_ms limit page", false, answer_indicator_results },
        { "/api/v1/indicators/{name}/query",    "where component version since_ms until_ms group_by stat limit format", false,
          answer_indicator_query },
        { "/api/v1/indicators/{name}/rank",     "where component version since_ms until_ms by objective direction confidence across",
          false, answer_indicator_rank },
        { "/api/v1/batches/{id}",               "",                                           false, answer_batch },
        { "/api/v1/models",                     "",                                           true,  answer_models },
        { "/api/v1/results",                    "where name component job since_ms until_ms limit page", false, answer_results },
};

const Route *routes_table(size_t *ret_n) {
        *ret_n = N_ELEMENTS(table);
        return table;
}

static bool segment_matches(const char *pattern, size_t n, const char *segment) {
        if (n > 0 && pattern[0] == '{')
                return *segment;

        return strlen(segment) == n && memcmp(segment, pattern, n) == 0;
}

/* True when the path is the route's; notes what stands for its {…}. */
static bool route_matches(const Route *route, const Exchange *exchange, const char **ret_argument) {
        const char *pattern = route->path, *argument = NULL;
        size_t i;

        for (i = 0; *pattern && i < exchange->n_segments; i++) {
                const char *begin = pattern + 1;

                pattern = strchrnul(begin, '/');
                if (!segment_matches(begin, (size_t)(pattern - begin), exchange->segments[i]))
                        return false;
                if (*begin == '{')
                        argument = exchange->segments[i];
        }

        if (*pattern || i < exchange->n_segments)
                return false;

        *ret_argument = argument;
        return true;
}

static const Route *find_route(Exchange *exchange) {
        for (size_t i = 0; i < N_ELEMENTS(table); i++)
                if (route_matches(&table[i], exchange, &exchange->argument))
                        return &table[i];
        return NULL;
}

/* True when the name is one of the words. */
static bool has_word(const char *words, const char *name) {
        size_t n = strlen(name);

        while (*words) {
                size_t n_word = strcspn(words, " ");

                if (n == n_word && memcmp(words, name, n) == 0)
                        return true;
                words += n_word;
                words += strspn(words, " ");
        }

        return false;
}

static bool is_repeatable(const char *name) {
        size_t n = strlen(name);

        return strcmp(name, "where") == 0 || (n > 2 && strcmp(name + n - 2, "[]") == 0);
}

static int check_parameters(Exchange *exchange, const Route *route) {
        for (size_t i = 0; i < exchange->n_parameters; i++) {
                const char *name = exchange->parameters[i].name;

                if (!has_word(route->parameters, name))
                        return exchange_error(exchange, 400, "%s has no query parameter '%s'; it has: %s", route->path, name,
                                              *route->parameters ? route->parameters : "none");
                if (!is_repeatable(name) && exchange_parameter(exchange, name) != exchange->parameters[i].value)
                        return exchange_error(exchange, 400, "Query parameter '%s' is given more than once", name);
        }

        return 0;
}

void routes_answer(Exchange *exchange) {
        const Route *route = find_route(exchange);

        if (!route) {
                (void)exchange_error(exchange, 404, "There is nothing at this path; / lists what there is");
                return;
        }

        if (!exchange->is_read) {
                (void)exchange_error(exchange, 405, "%s can only be read, with GET or HEAD", route->path);
                return;
        }

        if (check_parameters(exchange, route) > 0)
                return;

        if (route->needs_snapshot && !exchange->snapshot) {
                (void)exchange_error(exchange, 503, "perfd has only just started and has taken no sample yet");
                return;
        }

        route->answer(exchange);
}
