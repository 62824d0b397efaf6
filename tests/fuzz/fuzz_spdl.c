/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: exports and logs of SPDL
 *
 * The first byte tells whether the text is a log, and whether the start of the pipelines is known. A refused text has an error message.
 * Rows are in the order of time, and each is a line that is read or refused with an error.
 */

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/pipeline_line.h"
#include "client/spdl/spdl_export.h"
#include "client/spdl/spdl_log.h"
#include "value/value_parse.h"

#define LINE_MAX_BYTES 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const SpdlTable *table, const SpdlRow *row, Arena *arena) {
        char error[PIPELINE_LINE_ERROR_MAX] = "", place[SPDL_TABLE_PLACE_MAX];
        scoped(buffer_deinit) Buffer text = {};
        PipelineLine line;
        int r;

        assert(row->stage < table->n_stages && row->at > 0 && !isnan(row->end_s));
        if (table->is_log)
                assert(row->values[SPDL_COUNT] >= 0 && row->values[SPDL_TIME] >= 0 && row->wrong == N_SPDL_VALUES);
        spdl_table_put_place(table, row, place);
        spdl_table_put(table, row, &text);
        arena_reset(arena);
        r = pipeline_line_read(text.text, text.n, true, arena, &line, error);
        assert(r == 0 ? line.kind == PIPELINE_LINE_INTERVAL && !error[0] : r == PIPELINE_LINE_INVALID && error[0]);
        assert(place[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        scoped(spdl_table_deinit) SpdlTable table = {};
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer text = {};
        char error[SPDL_TABLE_ERROR_MAX] = "";
        int r;

        if (size == 0)
                return 0;
        buffer_put(&text, data + 1, size - 1);
        if (buffer_error(&text) < 0 || arena_init(&arena, value_parse_arena_size(LINE_MAX_BYTES)) < 0)
                abort();
        r = (data[0] & 1 ? spdl_log_read : spdl_export_read)(&table, &text, error);
        if (r == 0)
                r = spdl_table_order(&table, data[0] & 2 ? 1764000000 : NAN, error);
        assert(r == 0 ? !error[0] : r == SPDL_TABLE_INVALID && error[0]);
        for (size_t i = 0; r == 0 && i < table.n; i++) {
                assert(i == 0 || table.rows[i - 1].end_s <= table.rows[i].end_s);
                check_row(&table, &table.rows[i], &arena);
        }
        return 0;
}
