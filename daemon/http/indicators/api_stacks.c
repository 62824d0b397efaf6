/* SPDX-License-Identifier: Apache-2.0 */
/* Lists software stacks, and shows and compares them. */

#include <ctype.h>
#include <string.h>

#include "http/indicators/indicators_subject.h"
#include "http/indicators/stack_diff.h"
#include "http/indicators/vocabulary.h"
#include "http/pagination.h"
#include "http/selection/grouping.h"
#include "store/indicators/stack_reader.h"
#include "value/value_parse.h"

#define PREFIX_MIN 4U

static void put_stack(Json *json, const StackRow *row) {
        json_put_string(json, "digest", row->digest);
        json_put_uint(json, "results", row->n_results);
        json_put_uint(json, "n_packages", row->n_packages);
        json_key(json, "facts");
        (void)value_parse_write_kept(row->facts, json);
}

void indicators_subject_stacks(const Target *target, const Sources *sources, Response *response) {
        Json json = { .out = response->body };
        bool is_cut = false;
        StackRow row;
        int r;

        (void)target;
        json_object_begin(&json);
        json_put_array_begin(&json, "stacks");
        r = stack_reader_list(sources->reader, "");
        while (r == 0 && (r = stack_reader_next(sources->reader, &row)) == 0) {
                is_cut = response->body->n >= PAGINATION_BYTES_MAX;
                if (is_cut)
                        break;
                json_object_begin(&json);
                put_stack(&json, &row);
                json_object_end(&json);
        }
        if (r != 0 && r != READER_END) {
                (void)exchange_store_error(response, r);
                return;
        }
        json_array_end(&json);
        json_put_bool(&json, "truncated", is_cut);
        json_object_end(&json);
}

/* Finds the stack whose digest begins with these digits, and writes it to `json`, unless that is NULL. 0 or
 * EXCHANGE_ANSWERED. */
static int find_stack(const Sources *sources, Response *response, const char *digits, Json *json, int64_t *ret) {
        char prefix[STACK_DIGEST_DIGITS + 1];
        size_t n = strlen(digits), n_found = 0;
        StackRow row;
        int r;

        if (n < PREFIX_MIN || n > STACK_DIGEST_DIGITS || strspn(digits, "0123456789abcdefABCDEF") != n)
                return exchange_error(response, 400,
                                      "a stack is named by the first digits of its digest, at least %u hexadecimal "
                                      "digits, not '%s'",
                                      PREFIX_MIN, digits);
        for (size_t i = 0; i <= n; i++)
                prefix[i] = (char)tolower((unsigned char)digits[i]);
        r = stack_reader_list(sources->reader, prefix);
        while (r == 0 && (r = stack_reader_next(sources->reader, &row)) == 0) {
                if (++n_found > 1)
                        return exchange_error(response, 400,
                                              "several stacks have a digest that begins with '%s': give more", digits);
                *ret = row.id;
                if (json)
                        put_stack(json, &row);
        }
        if (r != READER_END)
                return exchange_store_error(response, r);
        return n_found == 1 ? 0 : exchange_error(response, 404, "no result has a stack whose digest begins with '%s'; "
                                                                "perfctl stack list has all", digits);
}

static void put_package(Json *json, const PackageRow *row) {
        const struct {
                const char *key, *text;
        } members[] = {
                { "name", row->name }, { "kind", row->kind }, { "version", row->version },
                { "source", row->source }, { "hash", row->hash }, { "build", row->build },
        };

        json_object_begin(json);
        for (size_t i = 0; i < N_ELEMENTS(members); i++)
                if (members[i].text[0])
                        json_put_string(json, members[i].key, members[i].text);
        json_object_end(json);
}

void indicators_subject_stack(const Target *target, const Sources *sources, Response *response) {
        Json json = { .out = response->body };
        PackageRow row;
        int64_t id;
        int r;

        json_object_begin(&json);
        if (find_stack(sources, response, target->argument, &json, &id) > 0)
                return;
        json_put_array_begin(&json, "packages");
        r = stack_reader_list_packages(sources->reader, id);
        while (r == 0 && (r = stack_reader_next_package(sources->reader, &row)) == 0)
                put_package(&json, &row);
        if (r != READER_END) {
                (void)exchange_store_error(response, r);
                return;
        }
        json_array_end(&json);
        json_object_end(&json);
}

void indicators_subject_stack_diff(const Target *target, const Sources *sources, Response *response) {
        const char *to = exchange_parameter(target, "to") ?: "";
        Json json = { .out = response->body };
        StackCount stacks[2] = { { .n = 1 }, { .n_failed = 1 } };

        if (find_stack(sources, response, target->argument, NULL, &stacks[0].stack) > 0 ||
            find_stack(sources, response, to, NULL, &stacks[1].stack) > 0)
                return;
        json_object_begin(&json);
        if (stack_diff_write(sources, response, &json, "differ", stacks, stacks[0].stack == stacks[1].stack ? 1 : 2,
                             NULL, 0, NULL) > 0)
                return;
        json_object_end(&json);
}

/* Compares the stacks of all selected results of an indicator: the values have the number of good and of failed
 * runs. */
void indicators_subject_stacks_of_results(const Target *target, const Sources *sources, Response *response) {
        scoped(vocabulary_freep) Vocabulary *vocabulary = NULL;
        scoped(grouping_freep) Grouping *grouping = NULL;
        const GroupFields fields = {};
        Json json = { .out = response->body };
        uint64_t n_scanned, n_excluded;
        Selection selection;
        Group *groups;
        size_t n;

        if (selection_parse(target, response, target->argument, &selection) > 0 ||
            vocabulary_new(&vocabulary, target, sources, response, &selection.filter) > 0 ||
            vocabulary_check(vocabulary, sources, response, &selection) > 0 ||
            grouping_read(sources, response, &selection, &fields, &grouping, &n_scanned) > 0)
                return;

        groups = grouping_sorted(grouping, &n);
        json_object_begin(&json);
        json_put_uint(&json, "scanned", n_scanned);
        json_put_uint(&json, "stacks", n > 0 ? groups[0].n_stacks : 0);
        n_excluded = n > 0 ? groups[0].n_of_further_stacks : 0;
        if (stack_diff_write(sources, response, &json, "differ", n > 0 ? groups[0].stacks : NULL,
                             n > 0 ? groups[0].n_stacks : 0, NULL, 0, &n_excluded) > 0)
                return;
        json_put_uint(&json, "differ_excluded", n_excluded);
        json_object_end(&json);
}
