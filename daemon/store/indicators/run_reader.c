/* SPDX-License-Identifier: Apache-2.0 */
#include "store/indicators/run_reader.h"

#include "store/jobs/job_text.h"
#include "store/read/read_connection.h"

typedef struct RunTexts {
        uint64_t duration_ms;
        JobNumberTexts numbers;
        const char *run, *stack_digest;
} RunTexts;

static const StoreColumn run_columns[] = {
        COLUMN(RunTexts, duration_ms),         COLUMN(RunTexts, numbers.metric_keys), COLUMN(RunTexts, numbers.metrics),
        COLUMN(RunTexts, numbers.usage_keys),  COLUMN(RunTexts, numbers.usage),       COLUMN(RunTexts, run),
        COLUMN(RunTexts, stack_digest),
};

/* A result that came before its job has no row of the job: the job is that of its user. */
STATEMENT run_find = {
        "SELECT ifnull(j.end_ms - j.begin_ms, 0), m.keys, j.metrics, u.keys, j.usage, r.run, lower(hex(k.digest))"
        " FROM result AS r LEFT JOIN job AS j"
        " ON j.row = coalesce(r.job_row, (SELECT b.row FROM job AS b WHERE b.id = r.job AND b.uid = r.uid))"
        " LEFT JOIN layout AS m ON m.id = j.layout LEFT JOIN layout AS u ON u.id = j.usage_layout"
        " LEFT JOIN stack AS k ON k.id = r.stack WHERE r.row = ?1",
        N_ELEMENTS(run_columns),
};

int run_reader_find(Reader *reader, int64_t result, RunRow *ret) {
        ReadConnection *connection = reader_connection(reader);
        RunTexts texts = {};
        int r;

        r = read_connection_begin(connection, &run_find, FIELDS(field_i64(result)));
        if (r == 0)
                r = read_connection_next(connection, run_columns, N_ELEMENTS(run_columns), &texts, sizeof(texts));
        if (r != 0)
                return r;

        *ret = (RunRow){ .duration_ms = texts.duration_ms, .run = texts.run, .stack_digest = texts.stack_digest };
        ret->has_job = job_text_read_numbers(&texts.numbers, &ret->metrics, &ret->usage) && ret->duration_ms > 0;
        return 0;
}
