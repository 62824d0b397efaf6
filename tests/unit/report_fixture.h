/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixture for tests of reports: an arena for documents, and a screen of 80 columns that writes into a buffer. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/report/report.h"
#include "util/file.h"
#include "value/value_parse.h"

#define REPORTS "tests/data/reports/"

#define OWN(key, value, unit)                                                                                          \
        "{\"key\":\"" key "\",\"value\":" #value ",\"unit\":\"" unit "\",\"quality\":\"exact\",\"scope\":\"job\"}"

typedef struct Fixture {
        Arena arena;
        Buffer out;
        Screen screen;
} Fixture;

static inline int set_up(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        *state = f;
        f->screen = (Screen){ .out = &f->out, .width = 80 };
        return arena_init(&f->arena, 4 * 1024 * 1024);
}

static inline int tear_down(void **state) {
        Fixture *f = *state;

        buffer_deinit(&f->out);
        arena_deinit(&f->arena);
        free(f);
        return 0;
}

static inline const Value *read_value(Fixture *f, const char *text) {
        ValueReader reader;
        ValueError error;
        const Value *value;

        value_parse_begin(&reader, text, strlen(text));
        if (value_parse_next(&reader, &f->arena, &value, &error) != 0)
                fail_msg("%u:%u: %s", error.line, error.column, error.text);
        return value;
}

static inline void read_whole(const char *path, char **ret) {
        assert_int_equal(file_read_at(AT_FDCWD, path, 1024 * 1024, ret, NULL), 0);
}

static inline const Value *read_document(Fixture *f, const char *name) {
        scoped(freep) char *text = NULL;
        char path[128];

        snprintf(path, sizeof(path), REPORTS "%s.json", name);
        read_whole(path, &text);
        return read_value(f, text);
}

/* Writes the report of a document in tests/data/reports. */
static inline const char *report_of(Fixture *f, const Value *job, const ReportResults *results) {
        buffer_clear(&f->out);
        report_write_job(&f->screen, job, NULL, results);
        assert_int_equal(buffer_error(&f->out), 0);
        return f->out.text;
}

static inline const char *report_document(Fixture *f, const char *name) {
        return report_of(f, read_document(f, name), NULL);
}

static inline void assert_says(const char *text, const char *words) {
        if (!strstr(text, words))
                fail_msg("'%s' is not in\n%s", words, text);
}
