/* SPDX-License-Identifier: Apache-2.0 */
#include "document/accepted_level.h"

#include "util/scoped.h"

static int check_where(ModelReader *reader, const Value *where) {
        Condition condition;

        if (!where)
                return 0;
        if (where->type != VALUE_LIST || where->n_items > ACCEPTED_LEVEL_WHERE_MAX)
                return model_reader_wrong(reader, "where", "must be a list of up to %u conditions such as \"matrix_size=512\"",
                                          ACCEPTED_LEVEL_WHERE_MAX);
        for (size_t i = 0; i < where->n_items; i++)
                if (where->items[i].type != VALUE_STRING || condition_parse(where->items[i].string, &condition) != 0)
                        return model_reader_wrong(reader, "where", "item %zu must be KEY=VALUE, or with != < <= > >=", i);
        return 0;
}

int accepted_level_check(ModelReader *reader, const Value *document) {
        static const char *const keys[] = { "kpi", "until_ms", "where", "note" };
        const Value *level = value_get_given(document, "accepted");
        const char *kpi = NULL, *note;
        double until_ms = 0;
        int r;

        if (!level || level->type != VALUE_OBJECT)
                return model_reader_wrong(reader, "accepted", "must be an object with kpi and until_ms");
        r = model_reader_check_keys(reader, level, keys, N_ELEMENTS(keys));
        if (r == 0)
                r = model_reader_take_text(reader, level, "kpi", ACCEPTED_LEVEL_KPI_MAX, &kpi);
        if (r == 0)
                r = model_reader_take_text(reader, level, "note", ACCEPTED_LEVEL_NOTE_MAX, &note);
        if (r == 0)
                r = model_reader_take_number(reader, level, "until_ms", &until_ms);
        if (r != 0)
                return r;
        if (!kpi)
                return model_reader_wrong(reader, "kpi", "missing: name the KPI that has the level, such as PiMatmul.rate");
        if (!(until_ms > 0 && until_ms < 0x1p53))
                return model_reader_wrong(reader, "until_ms", "must be the time of the newest run with the level, in ms since 1970");
        return check_where(reader, value_get_given(level, "where"));
}
