/* SPDX-License-Identifier: Apache-2.0 */
#include "document/semver.h"

#include <stddef.h>
#include <string.h>

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

bool semver_is_valid(const char *text) {
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

        return (r > 0) - (r < 0);
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
        return r ? (r > 0) - (r < 0) : (n_a > n_b) - (n_a < n_b);
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

int semver_compare(const char *a, const char *b) {
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
