/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/words.h"

#include <string.h>

#include "util/parse.h"

static bool is_end(char c) {
        return c == '\0' || c == '\n' || c == ' ';
}

bool words_next(const char **p, Word *ret) {
        const char *start = *p, *equals, *end;

        while (*start == ' ')
                start++;
        *p = start;
        if (is_end(*start))
                return false;

        end = start;
        while (!is_end(*end))
                end++;
        *p = end;

        equals = memchr(start, '=', (size_t)(end - start));
        *ret = (Word){
                .name = start,
                .n_name = (size_t)((equals ? equals : end) - start),
                .value = equals ? equals + 1 : end,
                .n_value = equals ? (size_t)(end - equals - 1) : 0,
        };
        return true;
}

bool words_next_line(const char **p, Word *ret) {
        *p = scan_line_end(*p);
        while (**p == '\n')
                (*p)++;
        return words_next(p, ret);
}

bool word_is(const Word *word, const char *name) {
        return strlen(name) == word->n_name && memcmp(word->name, name, word->n_name) == 0;
}

/* Numbers are short; what does not fit is none. */
#define NUMBER_MAX 40

static int word_number(const Word *word, char ret[static NUMBER_MAX]) {
        if (word->n_value == 0 || word->n_value >= NUMBER_MAX)
                return PARSE_MALFORMED;

        memcpy(ret, word->value, word->n_value);
        ret[word->n_value] = '\0';
        return 0;
}

int word_u64(const Word *word, uint64_t *ret) {
        char number[NUMBER_MAX];

        if (word_number(word, number) != 0 || parse_u64(number, ret) != 0)
                return PARSE_MALFORMED;
        return 0;
}

int word_double(const Word *word, double *ret) {
        char number[NUMBER_MAX];

        if (word_number(word, number) != 0 || parse_double(number, ret) != 0)
                return PARSE_MALFORMED;
        return 0;
}

void words_put_u64(Buffer *out, const char *name, uint64_t v) {
        if (v == 0)
                return;

        buffer_putc(out, ' ');
        buffer_puts(out, name);
        buffer_putc(out, '=');
        buffer_put_u64(out, v);
}

void words_put_double(Buffer *out, const char *name, double v) {
        if (v == 0)
                return;

        buffer_putc(out, ' ');
        buffer_puts(out, name);
        buffer_putc(out, '=');
        buffer_put_double(out, v);
}

void words_put_text(Buffer *out, const char *name, const char *text) {
        buffer_putc(out, ' ');
        buffer_puts(out, name);
        buffer_putc(out, '=');
        for (const char *p = text; *p; p++) {
                if (*p > ' ' && *p < 0x7f && *p != '%')
                        buffer_putc(out, *p);
                else
                        buffer_printf(out, "%%%02X", (unsigned char)*p);
        }
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

int word_text(const Word *word, char *ret, size_t n_max) {
        const char *p = word->value, *end = p + word->n_value;
        size_t n = 0;

        while (p < end) {
                char c = *p++;

                if (c == '%') {
                        int high = end - p >= 2 ? hex_digit(p[0]) : -1, low = end - p >= 2 ? hex_digit(p[1]) : -1;

                        if (high < 0 || low < 0)
                                return PARSE_MALFORMED;
                        c = (char)(high * 16 + low);
                        p += 2;
                }

                if (c == '\0' || n + 1 >= n_max)
                        return PARSE_MALFORMED;
                ret[n++] = c;
        }

        ret[n] = '\0';
        return 0;
}

void words_put_sources(Buffer *out, const char *name, uint32_t sources) {
        char separator = '=';

        if (sources == 0)
                return;

        buffer_putc(out, ' ');
        buffer_puts(out, name);
        for (Source source = 0; source < N_SOURCES; source++) {
                if (!(sources & (1U << source)))
                        continue;
                buffer_putc(out, separator);
                buffer_puts(out, source_name(source));
                separator = ',';
        }
}

static uint32_t source_bit(const char *name, size_t n) {
        Word word = { .name = name, .n_name = n };

        for (Source source = 0; source < N_SOURCES; source++)
                if (word_is(&word, source_name(source)))
                        return 1U << source;
        return 0;
}

uint32_t word_sources(const Word *word) {
        const char *p = word->value, *end = p + word->n_value;
        uint32_t sources = 0;

        while (p < end) {
                const char *comma = memchr(p, ',', (size_t)(end - p));
                const char *stop = comma ? comma : end;

                sources |= source_bit(p, (size_t)(stop - p));
                p = stop + 1;
        }

        return sources;
}
