/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/user_counts.h"
#include "util/buffer.h"
#include "util/scoped.h"

void tally_deinit(Tally *tally) {
        for (size_t i = 1; i <= tally->n_series; i++)
                free(tally->series[i].text);
        *tally = (Tally){};
}

/* --- series --------------------------------------------------------------------------------------- */

/* Frees a series. Its counts are added to the series of all others, so that no sum decreases. */
static void release_series(Tally *tally, TallySeries *series) {
        for (IndicatorOutcome outcome = 0; outcome < N_INDICATOR_OUTCOMES; outcome++)
                tally->series[0].count.n[outcome] += series->count.n[outcome];
        free(series->text);
}

/* Reuses a series for another indicator. Returns 0 if the user has the most series, but none. */
static uint32_t vacate_series(Tally *tally, uint32_t uid) {
        TallySeries *series = &tally->series[1];
        size_t i = user_counts_choose_victim(&series->count.uid, &series->used, sizeof(*series), tally->n_series, uid);

        if (i == tally->n_series)
                return 0;
        release_series(tally, series + i);
        return (uint32_t)i + 1;
}

static uint32_t add_series(Tally *tally, uint32_t uid, const char *name, const char *component) {
        size_t n_name = strlen(name) + 1;
        char *text = malloc(n_name + strlen(component) + 1);
        uint32_t i;

        if (!text)
                return 0;
        i = tally->n_series < INDICATOR_SERIES_MAX ? (uint32_t)++tally->n_series : vacate_series(tally, uid);
        if (i == 0) {
                free(text);
                return 0;
        }

        strcpy(text, name);
        strcpy(text + n_name, component);
        tally->series[i] = (TallySeries){ .count = { .name = text, .component = text + n_name, .uid = uid },
                                          .text = text };
        tally->version++;
        return i;
}

/* Searches the series from the last one back: they are few, and new ones are used most. */
static uint32_t find_series(Tally *tally, uint32_t uid, const char *name, const char *component) {
        uint32_t i = (uint32_t)tally->n_series;

        while (i > 0 && (tally->series[i].count.uid != uid || strcmp(tally->series[i].count.name, name) != 0 ||
                         strcmp(tally->series[i].count.component, component) != 0))
                i--;
        if (i == 0)
                i = add_series(tally, uid, name, component);
        tally->series[i].used = ++tally->n_uses;
        return i;
}

/* --- counting ------------------------------------------------------------------------------------- */

void tally_count(Tally *tally, uint32_t uid, const char *name, const char *component, IndicatorOutcome outcome) {
        tally->series[find_series(tally, uid, name, component ?: "")].count.n[outcome]++;
}

void tally_forget(Tally *tally, uint32_t uid) {
        for (size_t i = tally->n_series; i > 0; i--) {
                TallySeries *series = &tally->series[i], *last = &tally->series[tally->n_series];

                if (series->count.uid != uid)
                        continue;
                release_series(tally, series);
                *series = *last;
                *last = (TallySeries){};
                tally->n_series--;
                tally->version++;
        }
}

/* --- publishing ----------------------------------------------------------------------------------- */

/* Copies the names: an HTTP thread may hold a snapshot for longer than the series exists. */
static int publish_names(const Tally *tally, IndicatorsSnapshot *ret) {
        scoped(buffer_deinit) Buffer names = {};
        char *p;
        int r;

        for (size_t i = 1; i <= tally->n_series; i++) {
                buffer_put(&names, tally->series[i].count.name, strlen(tally->series[i].count.name) + 1);
                buffer_put(&names, tally->series[i].count.component, strlen(tally->series[i].count.component) + 1);
        }
        r = buffer_error(&names);
        if (r < 0)
                return r;

        free(ret->names);
        p = ret->names = TAKE(names.text);
        for (size_t i = 0; i < tally->n_series; i++) {
                ret->counts[i].name = p;
                p = strchr(p, '\0') + 1;
                ret->counts[i].component = p;
                p = strchr(p, '\0') + 1;
        }
        ret->names_version = tally->version;
        return 0;
}

static bool has_counted(const IndicatorCount *count) {
        return count->n[INDICATOR_STORED] + count->n[INDICATOR_FAILED] + count->n[INDICATOR_REFUSED] > 0;
}

int tally_publish(const Tally *tally, IndicatorsSnapshot *ret) {
        int r;

        ret->n = 0;
        ret->stats = tally->stats;
        r = snapshot_indicators_reserve(ret, tally->n_series + 1);
        if (r == 0 && ret->names_version != tally->version)
                r = publish_names(tally, ret);
        if (r < 0)
                return r;

        for (; ret->n < tally->n_series; ret->n++) {
                const IndicatorCount *count = &tally->series[ret->n + 1].count;

                ret->counts[ret->n].uid = count->uid;
                memcpy(ret->counts[ret->n].n, count->n, sizeof(count->n));
        }
        if (has_counted(&tally->series[0].count)) {
                ret->counts[ret->n] = tally->series[0].count;
                ret->counts[ret->n].name = ret->counts[ret->n].component = "";
                ret->n++;
        }
        assert(ret->n <= ret->n_allocated);
        return 0;
}
