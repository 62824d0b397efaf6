#include "model/totals.h"

#include <errno.h>
#include <string.h>

#include "model/words.h"
#include "util/parse.h"

static const char *const names[N_TOTALS] = {
#define X(id) [TOTAL_##id] = #id,
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

int totals_format(const Totals *totals, char *ret, size_t n_max) {
        scoped(buffer_deinit) Buffer text = {};

        totals_put(totals, &text);
        if (buffer_error(&text) < 0)
                return -ENOMEM;
        if (text.n >= n_max)
                return -ENOBUFS;

        /* Without the first word's leading blank; all zero is an empty line. */
        memcpy(ret, text.n > 0 ? text.text + 1 : "", text.n > 0 ? text.n : 1);
        return 0;
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
