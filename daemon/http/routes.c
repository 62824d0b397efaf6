/* SPDX-License-Identifier: Apache-2.0 */
#include "http/routes.h"

#include <assert.h>
#include <string.h>

#include "util/parse.h"

const Route *routes_at(size_t i) {
        for (const Subject *const *subject = subjects; *subject; subject++)
                for (const Route *route = (*subject)->routes; route->path; route++)
                        if (i-- == 0)
                                return route;
        return NULL;
}

static bool segment_matches(const char *pattern, size_t n, const char *segment) {
        if (n > 0 && pattern[0] == '{')
                return *segment;

        return strlen(segment) == n && memcmp(segment, pattern, n) == 0;
}

/* True if the path matches the route; stores the segment that matches {…}. */
static bool route_matches(const Route *route, const Target *target, const char **ret_argument) {
        const char *pattern = route->path, *argument = NULL;
        size_t i;

        for (i = 0; *pattern && i < target->n_segments; i++) {
                const char *begin = pattern + 1;

                assert(*pattern == '/');
                pattern = strchrnul(begin, '/');
                if (!segment_matches(begin, (size_t)(pattern - begin), target->segments[i]))
                        return false;
                if (*begin == '{')
                        argument = target->segments[i];
        }

        if (*pattern || i < target->n_segments)
                return false;

        *ret_argument = argument;
        return true;
}

static const Route *find_route(Target *target) {
        const Route *route;

        for (size_t i = 0; (route = routes_at(i)); i++)
                if (route_matches(route, target, &target->argument))
                        return route;
        return NULL;
}

static bool is_repeatable(const char *name) {
        static const char *const names[] = { "where", "label", "ignore_entry" };
        size_t n = strlen(name);

        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (strcmp(names[i], name) == 0)
                        return true;
        return n > 2 && strcmp(name + n - 2, "[]") == 0;
}

static int check_parameters(const Target *target, Response *response, const Route *route) {
        for (size_t i = 0; i < target->n_parameters; i++) {
                const char *name = target->parameters[i].name;

                if (!parse_has_word(route->parameters, name, " "))
                        return exchange_error(response, 400, "%s has no query parameter '%s'; available: %s",
                                              route->path, name, *route->parameters ? route->parameters : "none");
                if (!is_repeatable(name) && exchange_parameter(target, name) != target->parameters[i].value)
                        return exchange_error(response, 400, "query parameter '%s' is given more than once", name);
        }

        return 0;
}

/* True if programs ask for what is at the path: they get errors in JSON, also from within a browser. */
static bool is_for_programs(const Target *target) {
        return parse_has_word("api metrics -", target->segments[0], " ");
}

/* Replaces an error by the page, which says that nothing is at the path, and leads back. */
static void answer_browser(Exchange *exchange) {
        Response *response = &exchange->response;
        unsigned status = response->status;

        if (status < 400 || !exchange->target.wants_html || is_for_programs(&exchange->target))
                return;
        for (size_t i = 0; routes_at(i); i++)
                if (strcmp(routes_at(i)->path, "/") == 0)
                        routes_at(i)->answer(&exchange->target, &exchange->sources, response);
        response->status = status;
}

static int answer_route(Exchange *exchange) {
        const Route *route = find_route(&exchange->target);

        if (!route)
                (void)exchange_error(&exchange->response, 404, "no such path; see /api/v1/openapi.json");
        else if (!exchange->target.is_read)
                (void)exchange_error(&exchange->response, 405, "%s allows only GET and HEAD", route->path);
        else if (check_parameters(&exchange->target, &exchange->response, route) > 0)
                return 0;
        else if (route->needs_snapshot && !exchange->sources.snapshot)
                (void)exchange_error(&exchange->response, 503, "perfd has just started and has not taken a sample yet");
        else if (route->needs_store && !exchange->sources.reader)
                return ROUTES_NEEDS_STORE;
        else {
                if (exchange->sources.reader)
                        reader_hide_others(exchange->sources.reader, exchange->target.viewer.hides_others,
                                           exchange_uid(&exchange->target));
                route->answer(&exchange->target, &exchange->sources, &exchange->response);
        }
        return 0;
}

int routes_answer(Exchange *exchange) {
        int r = answer_route(exchange);

        if (r == 0)
                answer_browser(exchange);
        return r;
}
