/* SPDX-License-Identifier: Apache-2.0 */
#include "indicators/tally.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/scoped.h"

void tally_deinit(Tally *tally) {
        for (size_t i = 1; i <= tally->n_series; i++) {
                free((char *)tally->series[i].name);
                free((char *)tally->series[i].component);
        }
        free(tally->entries);
        *tally = (Tally){};
}

/* --- series --------------------------------------------------------------------------------------- */

static uint32_t add_series(Tally *tally, uint16_t *bucket, const char *name, const char *component) {
        scoped(freep) char *own_name = NULL, *own_component = NULL;

        assert(*bucket == 0);

        if (tally->n_series == INDICATOR_SERIES_MAX)
                return 0;
        own_name = strdup(name);
        own_component = strdup(component);
        if (!own_name || !own_component)
                return 0;

        *bucket = (uint16_t)++tally->n_series;
        tally->series[tally->n_series] = (IndicatorCount){ .name = TAKE(own_name), .component = TAKE(own_component) };
        return *bucket;
}

static uint32_t find_series(Tally *tally, const char *name, const char *component) {
        uint32_t at = (uint32_t)(hash_text(hash_text(HASH_BEGIN, name), component) % TALLY_BUCKETS);

        for (; tally->buckets[at]; at = (at + 1) % TALLY_BUCKETS) {
                const IndicatorCount *series = &tally->series[tally->buckets[at]];

                if (strcmp(series->name, name) == 0 && strcmp(series->component, component) == 0)
                        return tally->buckets[at];
        }

        return add_series(tally, &tally->buckets[at], name, component);
}

_Static_assert(TALLY_BUCKETS > INDICATOR_SERIES_MAX, "a search ends at a free bucket");

/* --- queued submissions --------------------------------------------------------------------------- */

static int make_room(Tally *tally, size_t n) {
        size_t n_new = tally->n_allocated ?: 64;
        TallyEntry *entries;

        if (tally->first == tally->n_entries)
                tally->first = tally->n_entries = 0;
        if (tally->first > 0 && tally->n_entries + n > tally->n_allocated) {
                tally->n_entries -= tally->first;
                memmove(tally->entries, tally->entries + tally->first, tally->n_entries * sizeof(*entries));
                tally->first = 0;
        }
        if (tally->n_entries + n <= tally->n_allocated)
                return 0;

        while (n_new < tally->n_entries + n)
                n_new *= 2;
        entries = reallocarray(tally->entries, n_new, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        tally->entries = entries;
        tally->n_allocated = n_new;
        return 0;
}

int tally_add(Tally *tally, const Submission *items, size_t n_items) {
        TallyEntry *entry = NULL;
        int r;

        assert(n_items > 0);

        r = make_room(tally, n_items);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_items; i++) {
                const Indicator *indicator = &items[i].indicator;
                uint32_t series = find_series(tally, indicator->name, indicator->component ?: "");
                IndicatorOutcome outcome = submission_has_failed(&items[i]) ? INDICATOR_FAILED : INDICATOR_STORED;

                if (entry && entry->series == series && entry->outcome == outcome) {
                        entry->n++;
                        continue;
                }
                assert(tally->n_entries < tally->n_allocated);
                entry = &tally->entries[tally->n_entries++];
                *entry = (TallyEntry){ .series = series, .outcome = outcome, .n = 1 };
        }

        entry->is_last = true;
        return 0;
}

void tally_cancel_last(Tally *tally) {
        assert(tally->n_entries > tally->first && tally->entries[tally->n_entries - 1].is_last);

        tally->n_entries--;
        while (tally->n_entries > tally->first && !tally->entries[tally->n_entries - 1].is_last)
                tally->n_entries--;
}

static size_t count_new(const uint8_t *old, size_t first, size_t n) {
        size_t n_new = 0;

        for (size_t i = first; i < first + n; i++)
                n_new += !(old[i / 8] & 1U << i % 8);
        return n_new;
}

void tally_count_stored(Tally *tally, const uint8_t *old) {
        bool is_last = false;
        size_t n = 0;

        while (!is_last) {
                const TallyEntry *entry = &tally->entries[tally->first++];

                assert(tally->first <= tally->n_entries && entry->series <= tally->n_series);
                tally->series[entry->series].n[entry->outcome] += old ? count_new(old, n, entry->n) : entry->n;
                n += entry->n;
                is_last = entry->is_last;
        }
}

void tally_discard(Tally *tally) {
        bool is_last = false;

        while (!is_last) {
                assert(tally->first < tally->n_entries);
                is_last = tally->entries[tally->first++].is_last;
        }
}

void tally_count_refused(Tally *tally, const char *name, const char *component) {
        tally->series[find_series(tally, name, component ?: "")].n[INDICATOR_REFUSED]++;
}

static bool has_counted(const IndicatorCount *count) {
        return count->n[INDICATOR_STORED] + count->n[INDICATOR_FAILED] + count->n[INDICATOR_REFUSED] > 0;
}

int tally_publish(const Tally *tally, IndicatorsSnapshot *ret) {
        int r;

        ret->n = 0;
        ret->stats = tally->stats;
        r = indicators_snapshot_reserve(ret, tally->n_series + 1);
        if (r < 0)
                return r;

        for (size_t i = 1; i <= tally->n_series; i++)
                ret->counts[ret->n++] = tally->series[i];
        if (has_counted(&tally->series[0])) {
                ret->counts[ret->n] = tally->series[0];
                ret->counts[ret->n].name = ret->counts[ret->n].component = "";
                ret->n++;
        }
        assert(ret->n <= ret->n_allocated);
        return 0;
}
