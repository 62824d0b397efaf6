/* SPDX-License-Identifier: Apache-2.0 */
#include "document/version.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "util/scoped.h"

#define DIGITS     "0123456789"
#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SEPARATORS "._-:~ /#@()"
#define COMMIT_MIN 7U /* digits of a commit's name */

/* In the order of versions that are equal up to here. */
typedef enum PartType {
        PART_EARLIEST, /* the word dev */
        PART_EARLIER, /* a word: of a prerelease */
        PART_END,
        PART_LATER, /* a word: of something added */
        PART_NUMBER,
} PartType;

typedef struct Part {
        PartType type;
        const char *text; /* borrowed; a number is without leading zeros */
        size_t n;
} Part;

static size_t count_prefix(const char *text) {
        return strspn(text, LETTERS);
}

static bool is_later_word(const char *text, size_t n) {
        static const char *const words[] = { "post", "patch", "p", "pl", "r", "rev", "t", "u", "update", "dirty" };

        for (size_t i = 0; i < N_ELEMENTS(words); i++)
                if (strlen(words[i]) == n && strncasecmp(words[i], text, n) == 0)
                        return true;
        return false;
}

/* True for "-14-g1c2d3e4": commits since a version. */
static bool is_description(const char *text) {
        size_t n = *text == '-' ? strspn(text + 1, DIGITS) : 0;

        return n > 0 && strncmp(text + 1 + n, "-g", 2) == 0;
}

/* is_marked: after the "g" of git, so that a name of digits only is no number. */
static bool is_commit(const char *text, bool is_marked) {
        size_t n = strcspn(text, SEPARATORS "+");

        return n >= COMMIT_MIN && strspn(text, "0123456789abcdef") >= n && (is_marked || strspn(text, DIGITS) < n);
}

/* Skips separators and names of commits, which have no order: such versions are equal. */
static const char *skip_unordered(const char *p) {
        for (;;) {
                bool is_marked = *(p += strspn(p, SEPARATORS)) == 'g';

                if (!is_commit(p + is_marked, is_marked))
                        return p;
                p += strcspn(p, SEPARATORS "+");
        }
}

static Part next_part(const char **text) {
        const char *p = *text;
        Part part;

        if (is_description(p)) {
                *text = p + 1; /* the number comes next */
                return (Part){ PART_LATER, p, 0 };
        }
        p = skip_unordered(p);
        if (!*p || *p == '+')
                return (Part){ .type = PART_END };
        part = (Part){ PART_NUMBER, p, strspn(p, DIGITS) };
        if (part.n == 0) {
                part.n = strspn(p, LETTERS);
                part.type = part.n == 3 && strncasecmp(p, "dev", 3) == 0 ? PART_EARLIEST
                            : is_later_word(p, part.n) ? PART_LATER : PART_EARLIER;
        }
        *text = p + part.n;
        for (; part.type == PART_NUMBER && part.n > 0 && *part.text == '0'; part.n--)
                part.text++;
        return part;
}

bool version_is_ordered(const char *text) {
        size_t n = count_prefix(text), n_digits;

        n += strspn(text + n, SEPARATORS);
        n_digits = strspn(text + n, DIGITS);
        return n_digits > 0 && !is_commit(text, false) && !is_commit(text + n, false) &&
               text[n + strspn(text + n, DIGITS LETTERS SEPARATORS "+")] == '\0';
}

bool version_is_extended(const char *text) {
        text += count_prefix(text);
        for (Part part = next_part(&text); part.type != PART_END; part = next_part(&text))
                if (part.type == PART_LATER)
                        return true;
        return false;
}

bool version_is_comparable(const char *a, const char *b) {
        size_t n_a = count_prefix(a), n_b = count_prefix(b);

        n_a = n_a == 1 && (*a == 'v' || *a == 'V') ? 0 : n_a;
        n_b = n_b == 1 && (*b == 'v' || *b == 'V') ? 0 : n_b;
        return n_a == n_b && strncasecmp(a, b, n_a) == 0;
}

static int compare_texts(const Part *a, const Part *b) {
        int r = a->type == PART_NUMBER && a->n != b->n ? COMPARE(a->n, b->n)
                                                       : strncasecmp(a->text, b->text, a->n < b->n ? a->n : b->n);

        return COMPARE(r, 0) ?: COMPARE(a->n, b->n);
}

int version_compare(const char *a, const char *b) {
        a += count_prefix(a);
        b += count_prefix(b);
        for (;;) {
                Part left = next_part(&a), right = next_part(&b);
                int r;

                while (left.type == PART_NUMBER && left.n == 0 && right.type != PART_NUMBER)
                        left = next_part(&a);
                while (right.type == PART_NUMBER && right.n == 0 && left.type != PART_NUMBER)
                        right = next_part(&b);
                if (left.type != right.type)
                        return left.type < right.type ? -1 : 1;
                if (left.type == PART_END)
                        return 0;
                r = compare_texts(&left, &right);
                if (r != 0)
                        return r;
        }
}

/* --- Semantic Versioning 2.0.0 ----------------------------------------------------------------------- */

#define DIGITS "0123456789"
#define WORD DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"

/* Returns the end of a number without leading zeros, or NULL. */
static const char *skip_number(const char *p) {
        size_t n = strspn(p, DIGITS);

        return n == 0 || (n > 1 && *p == '0') ? NULL : p + n;
}

/* Returns the end of one or more identifiers that are separated by dots, or NULL. */
static const char *skip_identifiers(const char *p, bool allow_leading_zeros) {
        for (;; p++) {
                size_t n = strspn(p, WORD);

                if (n == 0 || (!allow_leading_zeros && n > 1 && *p == '0' && strspn(p, DIGITS) == n))
                        return NULL;
                p += n;
                if (*p != '.')
                        return p;
        }
}

bool version_is_semantic(const char *text) {
        const char *p = text;

        for (unsigned i = 0; i < 3; i++) {
                p = skip_number(p);
                if (!p || (i < 2 && *p++ != '.'))
                        return false;
        }
        if (*p == '-')
                p = skip_identifiers(p + 1, false);
        if (p && *p == '+')
                p = skip_identifiers(p + 1, true);
        return p && !*p;
}

/* Numbers have any number of digits. */
static int compare_numbers(const char *a, size_t n_a, const char *b, size_t n_b) {
        int r = n_a == n_b ? memcmp(a, b, n_a) : n_a < n_b ? -1 : 1;

        return COMPARE(r, 0);
}

/* Numbers come before words. */
static int compare_identifiers(const char *a, size_t n_a, const char *b, size_t n_b) {
        bool is_number_a = strspn(a, DIGITS) >= n_a, is_number_b = strspn(b, DIGITS) >= n_b;
        int r;

        if (is_number_a && is_number_b)
                return compare_numbers(a, n_a, b, n_b);
        if (is_number_a != is_number_b)
                return is_number_a ? -1 : 1;

        r = memcmp(a, b, n_a < n_b ? n_a : n_b);
        return COMPARE(r, 0) ?: COMPARE(n_a, n_b);
}

/* A version without prerelease comes after its prereleases. */
static int compare_prereleases(const char *a, const char *b) {
        if (*a != '-' || *b != '-')
                return (*a != '-') - (*b != '-');

        for (;;) {
                size_t n_a, n_b;
                int r;

                a++, b++;
                n_a = strspn(a, WORD);
                n_b = strspn(b, WORD);
                r = compare_identifiers(a, n_a, b, n_b);
                a += n_a;
                b += n_b;
                if (r != 0)
                        return r;
                if (*a != '.' || *b != '.')
                        return (*a == '.') - (*b == '.');
        }
}

int version_compare_semantic(const char *a, const char *b) {
        for (unsigned i = 0; i < 3; i++) {
                size_t n_a = strspn(a, DIGITS), n_b = strspn(b, DIGITS);
                int r = compare_numbers(a, n_a, b, n_b);

                if (r != 0)
                        return r;
                a += n_a + (i < 2);
                b += n_b + (i < 2);
        }
        return compare_prereleases(a, b);
}
