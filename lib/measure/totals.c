/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/totals.h"

#include "measure/words.h"
#include "util/parse.h"

static const char *const names[N_TOTALS] = {
#define X(id, ...) [TOTAL_##id] = #id,
        TOTALS(X)
#undef X
};

const char *total_name(Total total) {
        return names[total];
}

void totals_put(const Totals *totals, Buffer *out) {
        words_put_u64(out, "boottime_ns", totals->boottime_ns);
        words_put_u64(out, "realtime_ns", totals->realtime_ns);
        words_put_sources(out, "have", totals->have);
        for (Total total = 0; total < N_TOTALS; total++)
                words_put_u64(out, names[total], totals->value[total]);
}

static int parse_word(const Word *word, Totals *totals) {
        if (word_is(word, "boottime_ns"))
                return word_u64(word, &totals->boottime_ns);
        if (word_is(word, "realtime_ns"))
                return word_u64(word, &totals->realtime_ns);
        if (word_is(word, "have"))
                totals->have = word_sources(word);

        for (Total total = 0; total < N_TOTALS; total++)
                if (word_is(word, names[total]))
                        return word_u64(word, &totals->value[total]);
        return 0;
}

int totals_parse(const char *text, Totals *ret) {
        Totals totals = {};
        Word word;

        while (words_next(&text, &word))
                if (parse_word(&word, &totals) != 0)
                        return PARSE_MALFORMED;

        *ret = totals;
        return 0;
}
