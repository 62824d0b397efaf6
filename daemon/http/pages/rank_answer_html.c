/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/rank_answer_html.h"

#include <inttypes.h>
#include <string.h>

#include "http/pages/html.h"

#define TABLES_MAX 20U   /* the JSON API has all of them */
#define ROWS_MAX 50U     /* rows of one table */
#define DIFFERING_MAX 8U /* keys that also differ */
#define VALUES_MAX 4U    /* of such a key */

static void put_text(Buffer *out, JsonText text) {
        scoped(buffer_deinit) Buffer plain = {};

        json_text_decode(text, &plain);
        html_text(out, json_text_kind(text) == JSON_KIND_NULL ? "unknown" : plain.text ?: "");
}

static void put_cell(Buffer *out, JsonText text, bool is_text) {
        double number;

        buffer_puts(out, is_text ? "<td class=\"text\">" : "<td>");
        if (json_text_double(text, &number))
                buffer_printf(out, "%.5g", number);
        else if (!text.text || json_text_kind(text) == JSON_KIND_NULL)
                buffer_puts(out, "–");
        else
                put_text(out, text);
        buffer_puts(out, "</td>");
}

static bool first_member(JsonText list, JsonText *ret) {
        JsonWalk walk = json_text_walk(list);
        JsonText key;

        return json_text_walk_next(&walk, &key, ret);
}

/* --- heading --------------------------------------------------------------------------------------- */

static void put_fact(Buffer *out, JsonText key, JsonText value, bool *has_any) {
        if (json_text_kind(value) == JSON_KIND_NULL)
                return;
        buffer_puts(out, *has_any ? ", " : "");
        put_text(out, key);
        buffer_puts(out, " <b>");
        put_text(out, value);
        buffer_puts(out, "</b>");
        *has_any = true;
}

/* Writes the members that the results of the ranking have in common: parameters, and members that are strings or
 * numbers. */
static void put_heading(Buffer *out, JsonText ranking, size_t number) {
        JsonWalk walk = json_text_walk(json_text_find(ranking, "parameters"));
        JsonText key, value;
        bool has_any = false;

        buffer_printf(out, "<h3 id=\"set-%zu\">", number);
        while (json_text_walk_next(&walk, &key, &value))
                put_fact(out, key, value, &has_any);
        walk = json_text_walk(ranking);
        while (json_text_walk_next(&walk, &key, &value)) {
                JsonKind kind = json_text_kind(value);

                if (json_text_is_string(key, "alternatives", 12)) /* further members are about the alternatives */
                        break;
                if (kind != JSON_KIND_OBJECT && kind != JSON_KIND_LIST)
                        put_fact(out, key, value, &has_any);
        }
        buffer_puts(out, has_any ? "</h3>\n" : "All results</h3>\n");
}

static void put_head(Buffer *out, JsonText keys, JsonText objective, size_t number) {
        JsonWalk walk = json_text_walk(keys);
        JsonText key, value;

        buffer_printf(
                out,
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"set-%zu\"><table>\n<thead><tr>",
                number);
        while (json_text_walk_next(&walk, &key, &value)) {
                buffer_puts(out, "<th scope=\"col\" class=\"text\">");
                put_text(out, key);
                buffer_puts(out, "</th>");
        }
        buffer_puts(out, "<th scope=\"col\">Rank</th><th scope=\"col\">vs best</th><th scope=\"col\" "
                         "class=\"text\">difference</th><th scope=\"col\">");
        put_text(out, objective);
        buffer_puts(out, ", median</th><th scope=\"col\">low</th><th scope=\"col\">high</th><th scope=\"col\">runs</th>"
                         "<th scope=\"col\">failed</th></tr></thead>\n<tbody>\n");
}

/* --- rows ------------------------------------------------------------------------------------------ */

/* Writes an alternative, or one that is not compared, with the reason as difference. */
static void put_row(Buffer *out, JsonText row, bool is_compared) {
        static const char *const members[] = {
                "rank", "ratio", "difference", "median", "low", "high", "n", "n_failed"
        };
        JsonWalk walk = json_text_walk(json_text_find(row, "key"));
        JsonText key, value;

        buffer_puts(out, "<tr>");
        while (json_text_walk_next(&walk, &key, &value)) {
                buffer_puts(out, "<td class=\"text\">");
                put_text(out, value);
                buffer_puts(out, "</td>");
        }
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
                bool is_difference = strcmp(members[i], "difference") == 0;

                put_cell(out, json_text_find(row, is_difference && !is_compared ? "reason" : members[i]),
                         is_difference);
        }
        buffer_puts(out, "</tr>\n");
}

static size_t put_rows(Buffer *out, JsonText list, bool is_compared, size_t n_rows) {
        JsonWalk walk = json_text_walk(list);
        JsonText key, row;

        for (; json_text_walk_next(&walk, &key, &row); n_rows++)
                if (n_rows < ROWS_MAX)
                        put_row(out, row, is_compared);
        return n_rows;
}

static void put_differing(Buffer *out, JsonText differing) {
        JsonWalk walk = json_text_walk(json_text_find(differing, "values"));
        JsonText key, value;
        size_t n = 0;

        put_text(out, json_text_find(differing, "key"));
        while (json_text_walk_next(&walk, &key, &value)) {
                if (n < VALUES_MAX) {
                        buffer_puts(out, n > 0 ? " / " : " <b>");
                        value = json_text_find(value, "value");
                        if (json_text_kind(value) == JSON_KIND_NULL)
                                buffer_puts(out, "none");
                        else
                                put_text(out, value);
                }
                n++;
        }
        buffer_puts(out, n > VALUES_MAX ? " / …</b>" : n > 0 ? "</b>" : "");
}

static void put_also_differ(Buffer *out, JsonText ranking) {
        JsonWalk walk = json_text_walk(json_text_find(ranking, "also_differ"));
        JsonText key, differing;
        uint64_t n_excluded;
        size_t n = 0;

        while (json_text_walk_next(&walk, &key, &differing)) {
                if (n < DIFFERING_MAX) {
                        buffer_puts(out, n == 0 ? "<p>Also differ: " : ", ");
                        put_differing(out, differing);
                }
                n++;
        }
        if (n > DIFFERING_MAX)
                buffer_printf(out, " and %zu more", n - DIFFERING_MAX);
        buffer_puts(out, n > 0 ? ". <code>hold=KEY</code> compares only results with equal values.</p>\n" : "");
        if (json_text_uint(json_text_find(ranking, "also_differ_excluded"), &n_excluded) && n_excluded > 0)
                buffer_printf(out, "<p>The software stacks of %" PRIu64 " runs are too many to be compared.</p>\n",
                              n_excluded);
}

static void put_ranking(Buffer *out, JsonText ranking, JsonText objective, size_t number) {
        JsonText alternatives = json_text_find(ranking, "alternatives"), excluded = json_text_find(ranking, "excluded"),
                 first = {};
        size_t n_rows;

        if (!first_member(alternatives, &first) && !first_member(excluded, &first))
                return;
        put_heading(out, ranking, number);
        put_head(out, json_text_find(first, "key"), objective, number);
        n_rows = put_rows(out, alternatives, true, 0);
        n_rows = put_rows(out, excluded, false, n_rows);
        buffer_puts(out, "</tbody>\n</table></div>\n");
        if (n_rows > ROWS_MAX)
                buffer_printf(out, "<p>%zu more alternatives are not shown.</p>\n", n_rows - ROWS_MAX);
        put_also_differ(out, ranking);
}

void rank_answer_html(Buffer *out, JsonText answer) {
        JsonText objective = json_text_find(answer, "objective"), key, ranking;
        JsonWalk walk = json_text_walk(json_text_find(answer, "rankings"));
        size_t n = 0;

        for (; json_text_walk_next(&walk, &key, &ranking); n++)
                if (n < TABLES_MAX)
                        put_ranking(out, ranking, objective, n);
        if (n > TABLES_MAX)
                buffer_printf(out, "<p>%zu more rankings: select with <code>?where=KEY=VALUE</code>.</p>\n",
                              n - TABLES_MAX);
        if (n == 0)
                buffer_puts(out, "<p>No matching results.</p>\n");
}
