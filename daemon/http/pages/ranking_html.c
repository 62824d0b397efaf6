/* SPDX-License-Identifier: Apache-2.0 */
#include "http/pages/ranking_html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "http/indicators/ranking.h"
#include "http/pages/html.h"

#define TABLES_MAX 20U       /* the JSON API has all of them */
#define ROWS_MAX 50U         /* rows of one table */
#define COMPARED_MAX 50000U /* values on a page: each resample draws all of them */
#define CONFIDENCE 0.95
#define SEED 1U              /* the same as in the API, so that both have the same result */

enum {
        FIELD_PARAMETERS,
        FIELD_HARDWARE,
        FIELD_COMPONENT,
        FIELD_VERSION,
};

const GroupFields ranking_fields = {
        .names = { "hardware", "component", "version" },
        .n = 3,
        .has_parameters = true,
};

static void put_text(Buffer *out, JsonText text) {
        scoped(buffer_deinit) Buffer plain = {};

        json_text_decode(text, &plain);
        html_text(out, plain.text ?: "");
}

static void put_number(Buffer *out, double number) {
        if (isfinite(number))
                buffer_printf(out, "%.5g", number);
        else
                buffer_puts(out, "–");
}

/* --- heading of a table --------------------------------------------------------------------------- */

/* number: index of the table, for the heading's id. */
static void put_heading(Buffer *out, const Group *group, size_t number) {
        JsonText hardware = grouping_field(group, FIELD_HARDWARE), key, value;
        JsonWalk walk = json_text_walk(grouping_field(group, FIELD_PARAMETERS));
        bool has_any = false;

        buffer_printf(out, "<h3 id=\"set-%zu\">", number);
        for (; json_text_walk_next(&walk, &key, &value); has_any = true) {
                buffer_puts(out, has_any ? ", " : "");
                put_text(out, key);
                buffer_puts(out, " <b>");
                put_text(out, value);
                buffer_puts(out, "</b>");
        }
        buffer_puts(out, has_any ? "" : "without parameters");
        if (json_text_kind(hardware) == JSON_KIND_STRING) {
                buffer_puts(out, ", on ");
                put_text(out, hardware);
        }
        buffer_puts(out, "</h3>\n");
}

static void put_head(Buffer *out, const RankingTable *table, size_t number) {
        buffer_printf(
                out,
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"set-%zu\"><table>\n<thead><tr>",
                number);
        buffer_puts(out, "<th scope=\"col\">Component, version</th><th scope=\"col\">Rank</th>"
                         "<th scope=\"col\">vs best</th>");
        for (size_t i = 0; i < table->n_results; i++) {
                buffer_puts(out, "<th scope=\"col\">");
                html_text(out, table->results[i].key);
                buffer_puts(out, ", median");
                if (*table->results[i].unit) {
                        buffer_puts(out, " in ");
                        html_text(out, table->results[i].unit);
                }
                buffer_puts(out, "</th>");
                if (i == 0)
                        buffer_puts(out, "<th scope=\"col\">95 % interval</th><th scope=\"col\"><abbr "
                                         "title=\"interquartile range divided by median\">spread</abbr></th><th "
                                         "scope=\"col\">runs</th><th scope=\"col\">failed</th>");
        }
        buffer_puts(out, "</tr></thead>\n<tbody>\n");
}

/* --- an alternative ------------------------------------------------------------------------------ */

/* alternative NULL: not compared. */
typedef struct Row {
        Group *group;
        const Alternative *alternative;
        bool is_alone;
} Row;

static void put_name(Buffer *out, const Group *group, double share) {
        JsonText version = grouping_field(group, FIELD_VERSION);

        buffer_puts(out, "<tr><th scope=\"row\">");
        put_text(out, grouping_field(group, FIELD_COMPONENT));
        if (json_text_kind(version) == JSON_KIND_STRING) {
                buffer_putc(out, ' ');
                put_text(out, version);
        }
        if (isfinite(share) && share > 0)
                buffer_printf(out, "<div class=\"bar\"><i style=\"width:%.1f%%\"></i></div>",
                              100 * (share < 1 ? share : 1));
        buffer_puts(out, "</th>");
}

static void put_rank(Buffer *out, const Row *row) {
        const Alternative *alternative = row->alternative;

        if (!alternative || row->is_alone) {
                buffer_puts(out, "<td>–</td><td>–</td>");
                return;
        }

        buffer_printf(out, "<td>%s%u</td><td>", alternative->is_tied ? "=" : "", alternative->rank);
        if (isfinite(alternative->ratio))
                buffer_printf(out, "%.3f ", alternative->ratio);
        buffer_printf(out, "%s</td>", ranking_verdict_name(alternative->verdict));
}

static void put_interval(Buffer *out, const Alternative *alternative) {
        buffer_puts(out, "<td>");
        if (alternative && isfinite(alternative->interval.level))
                buffer_printf(out, "%.5g to %.5g (%.4g %%)", alternative->interval.low, alternative->interval.high,
                              100 * alternative->interval.level);
        else if (alternative)
                buffer_puts(out, "needs 6 runs");
        else
                buffer_puts(out, "–");
        buffer_puts(out, "</td>");
}

static void put_median(Buffer *out, double median) {
        buffer_puts(out, "<td>");
        put_number(out, median);
        buffer_puts(out, "</td>");
}

static void put_objective(Buffer *out, const Row *row, const Statistics *statistics) {
        const Group *group = row->group;

        put_rank(out, row);
        put_median(out, statistics->median);
        put_interval(out, row->alternative);
        buffer_puts(out, "<td>");
        if (isfinite(statistics->covm) && statistics->n > 1)
                html_percent(out, statistics->covm);
        else
                buffer_puts(out, "–");
        buffer_printf(out, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td>", group->n, group->n_failed);
}

static void put_row(Buffer *out, const RankingTable *table, const Row *row, double median_max) {
        for (size_t i = 0; i < table->n_results; i++) {
                Sequence *values = &row->group->numbers[i];
                Statistics statistics;

                statistics_of(values->values, values->n, &statistics);
                if (i > 0) {
                        put_median(out, statistics.median);
                        continue;
                }
                put_name(out, row->group, statistics.median / median_max);
                put_objective(out, row, &statistics);
        }
        buffer_puts(out, "</tr>\n");
}

/* --- a table ------------------------------------------------------------------------------------- */

static bool is_compared(const RankingTable *table, const Group *group) {
        return table->direction != DIRECTION_UNKNOWN && group->numbers[0].n >= RANKING_N_MIN;
}

/* ret_n: number of alternatives. */
static int compare(const RankingTable *table, const Group *groups, size_t n, Alternative *ret, size_t *ret_n) {
        const RankingConfig config = {
                .is_higher_better = table->direction == DIRECTION_HIGHER,
                .confidence = CONFIDENCE,
                .n_resamples = RANKING_RESAMPLES,
                .seed = SEED,
        };
        size_t n_alternatives = 0;

        for (size_t i = 0; i < n; i++)
                if (is_compared(table, &groups[i]))
                        ret[n_alternatives++] = (Alternative){ .index = i,
                                                               .values = groups[i].numbers[0].values,
                                                               .n = groups[i].numbers[0].n };

        *ret_n = n_alternatives <= RANKING_ALTERNATIVES_MAX ? n_alternatives : 0;
        return ranking_make(ret, *ret_n, &config);
}

static double median_max_of(const Group *groups, size_t n) {
        double most = 0;

        for (size_t i = 0; i < n; i++) {
                Statistics statistics;

                statistics_of(groups[i].numbers[0].values, groups[i].numbers[0].n, &statistics);
                if (isfinite(statistics.median))
                        most = fmax(most, statistics.median);
        }
        return most;
}

static void put_notes(Buffer *out, const RankingTable *table, const Alternative *alternatives, size_t n_alternatives,
                      size_t n) {
        bool is_known = table->direction != DIRECTION_UNKNOWN, has_too_few = false;

        for (size_t i = 0; i < n_alternatives; i++)
                has_too_few |= alternatives[i].verdict == VERDICT_FEW;

        if (n_alternatives > 1)
                buffer_printf(out,
                              "<p>= shares a rank. significant: the difference from the best is unlikely to be "
                              "chance (5 %% level, corrected for all %zu alternatives). noise: not significant. 95 "
                              "%% interval: confidence interval of the median, with its true confidence; none with "
                              "fewer than 6 runs.</p>\n",
                              n_alternatives);
        if (has_too_few)
                buffer_printf(out, "<p>Too few runs: distinguishing any two of these needs %zu runs of each.</p>\n",
                              ranking_values_needed(n_alternatives, CONFIDENCE));
        if (is_known && n_alternatives == 0 && n > 1)
                buffer_printf(out,
                              "<p>Not compared: fewer than %u runs of each, or more than this page has time for.</p>\n",
                              RANKING_N_MIN);
        else if (is_known && n_alternatives > 0 && n_alternatives < n)
                buffer_printf(out, "<p>– not compared: fewer than %u runs have this result.</p>\n", RANKING_N_MIN);
        if (n > ROWS_MAX)
                buffer_printf(out, "<p>%zu more alternatives are not shown.</p>\n", n - ROWS_MAX);
}

/* Compared alternatives come first, the best on top. */
static int put_table(Buffer *out, const RankingTable *table, Group *groups, size_t n, size_t number,
                     bool is_affordable) {
        scoped(freep) Alternative *alternatives = calloc(n, sizeof(*alternatives));
        size_t n_alternatives = 0, n_rows = 0;
        double median_max;
        int r;

        if (!alternatives)
                return -ENOMEM;
        r = is_affordable ? compare(table, groups, n, alternatives, &n_alternatives) : 0;
        if (r < 0)
                return r;
        median_max = median_max_of(groups, n);

        put_heading(out, groups, number);
        put_head(out, table, number);
        for (size_t i = 0; i < n_alternatives && n_rows < ROWS_MAX; i++, n_rows++)
                put_row(out, table, &(Row){ &groups[alternatives[i].index], &alternatives[i], n_alternatives == 1 },
                        median_max);
        for (size_t i = 0; i < n && n_rows < ROWS_MAX; i++)
                if (n_alternatives == 0 || !is_compared(table, &groups[i])) {
                        put_row(out, table, &(Row){ .group = &groups[i] }, median_max);
                        n_rows++;
                }
        buffer_puts(out, "</tbody>\n</table></div>\n");
        put_notes(out, table, alternatives, n_alternatives, n);
        return 0;
}

static bool is_comparable(const Group *a, const Group *b) {
        return json_text_equals(grouping_field(a, FIELD_PARAMETERS), grouping_field(b, FIELD_PARAMETERS)) &&
               json_text_equals(grouping_field(a, FIELD_HARDWARE), grouping_field(b, FIELD_HARDWARE));
}

int ranking_html(Buffer *out, const RankingTable *table, Group *groups, size_t n) {
        size_t n_tables = 0, n_values = 0;
        int r = 0;

        for (size_t i = 0; i < n; i++)
                n_values += groups[i].numbers[0].n;

        for (size_t begin = 0, end = 0; begin < n && r == 0; begin = end, n_tables++) {
                while (end < n && is_comparable(&groups[begin], &groups[end]))
                        end++;
                if (n_tables < TABLES_MAX)
                        r = put_table(out, table, groups + begin, end - begin, n_tables, n_values <= COMPARED_MAX);
        }
        if (n_tables > TABLES_MAX)
                buffer_printf(
                        out,
                        "<p>%zu more sets of parameters and hardware: select with <code>?where=KEY=VALUE</code>.</p>\n",
                        n_tables - TABLES_MAX);
        return r;
}
