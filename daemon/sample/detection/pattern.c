/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/detection/pattern.h"

#include <stdio.h>
#include <string.h>

#include "util/scan.h"

#define NAME_BYTES_MAX 255U    /* maximum length of a directory name */
#define SLUID_CHARACTERS 14U
#define PATH_COMPONENTS_MAX 256U

_Static_assert(PATTERN_COMPONENTS_MAX < 32, "a state for each, and one for the end, are bits of PatternStates");

static const char *const captures[N_PATTERN_KINDS] = {
        [PATTERN_JOB] = "{job}",
        [PATTERN_SLUID] = "{sluid}",
        [PATTERN_UID] = "{uid}",
        [PATTERN_NODE] = "{node}",
};

/* --- parser ------------------------------------------------------------------------------------- */

/* State of parsing one pattern of a setting. */
typedef struct Reading {
        Pattern *pattern;
        size_t n_before; /* number of characters before the pattern in the setting */
        const char *p;   /* position in the pattern's own copy of its text */
        unsigned found;  /* captures found so far: bits of PatternKind */
        char *error;
} Reading;

static int invalid(const Reading *r, const char *what) {
        (void)snprintf(r->error, PATTERN_ERROR_MAX, "character %zu: %s",
                       r->n_before + (size_t)(r->p - r->pattern->text) + 1, what);
        return PATTERN_INVALID;
}

static int read_capture(Reading *r, PatternKind *ret, size_t *ret_n) {
        const unsigned ids = 1U << PATTERN_JOB | 1U << PATTERN_SLUID;
        PatternKind kind = 0;

        while (kind < N_PATTERN_KINDS &&
               (!captures[kind] || strncmp(r->p, captures[kind], strlen(captures[kind])) != 0))
                kind++;
        if (kind == N_PATTERN_KINDS)
                return invalid(r, "expected {job}, {sluid}, {uid} or {node}");
        if (r->found & (1U << kind))
                return invalid(r, "each of {job}, {sluid}, {uid} and {node} may be used once in a pattern");
        if (1U << kind & ids && r->found & ids)
                return invalid(r, "a pattern has {job} or {sluid}, not both");

        r->found |= 1U << kind;
        *ret = kind;
        *ret_n = strlen(captures[kind]);
        return 0;
}

static int read_element(Reading *r, PatternKind *ret, size_t *ret_n) {
        switch (*r->p) {
        case '{':
                return read_capture(r, ret, ret_n);
        case '}':
                return invalid(r, "} without {");
        case '*':
                *ret = PATTERN_ANY;
                *ret_n = 1;
                return 0;
        default:
                *ret = PATTERN_TEXT;
                *ret_n = strcspn(r->p, "*{}/");
                return 0;
        }
}

static int read_elements(Reading *r, size_t *ret_n) {
        Pattern *pattern = r->pattern;
        PatternKind kind, previous = PATTERN_TEXT;
        size_t n, n_elements = 0;
        int outcome;

        for (; *r->p != '/' && *r->p != '\0'; r->p += n, previous = kind, n_elements++) {
                outcome = read_element(r, &kind, &n);
                if (outcome != 0)
                        return outcome;
                if (kind != PATTERN_TEXT && previous != PATTERN_TEXT)
                        return invalid(r, "expected text between two placeholders, to tell where the first one ends");
                if (n_elements == PATTERN_NAME_ELEMENTS_MAX || pattern->n_elements == PATTERN_ELEMENTS_MAX)
                        return invalid(r, "too many * and {…} in a pattern");

                pattern->elements[pattern->n_elements].kind = kind;
                pattern->elements[pattern->n_elements].at = (uint16_t)(r->p - pattern->text);
                pattern->elements[pattern->n_elements].n = (uint16_t)n;
                pattern->n_elements++;
        }

        *ret_n = n_elements;
        return 0;
}

static bool is_name(const char *p, const char *name) {
        size_t n = strcspn(p, "/");

        return n == strlen(name) && memcmp(p, name, n) == 0;
}

/* Parses the name at p, after the slash. */
static int read_component(Reading *r) {
        Pattern *pattern = r->pattern;
        size_t n_elements = 0, first = pattern->n_elements;
        bool is_any_number = is_name(r->p, "**");
        int outcome;

        if (*r->p == '/' || *r->p == '\0')
                return invalid(r, "expected a name after the /");
        if (is_name(r->p, ".") || is_name(r->p, ".."))
                return invalid(r, "a cgroup path has no . or ..");
        if (pattern->n_components == PATTERN_COMPONENTS_MAX)
                return invalid(r, "too many names in a pattern");

        if (is_any_number)
                r->p += 2;
        outcome = is_any_number ? 0 : read_elements(r, &n_elements);
        if (outcome != 0)
                return outcome;

        pattern->components[pattern->n_components].first = (uint8_t)first;
        pattern->components[pattern->n_components].n = (uint8_t)n_elements;
        pattern->components[pattern->n_components].is_any_number = is_any_number;
        pattern->n_components++;
        return 0;
}

static int read_pattern(Reading *r) {
        Pattern *pattern = r->pattern;
        int outcome;

        r->p = pattern->text;
        if (*r->p != '/')
                return invalid(r, "expected / at the start of a pattern");
        while (*r->p == '/') {
                r->p++;
                outcome = read_component(r);
                if (outcome != 0)
                        return outcome;
        }

        if (pattern->components[pattern->n_components - 1].is_any_number)
                return invalid(r, "expected a name after **: that of the job's cgroup");
        if (!(r->found & (1U << PATTERN_JOB | 1U << PATTERN_SLUID)))
                return invalid(r, "expected {job} or {sluid} in the pattern that ends here");
        return 0;
}

int pattern_next(const char *begin, const char **text, Pattern *ret, char ret_error[static PATTERN_ERROR_MAX]) {
        const char *at = scan_blanks(*text);
        size_t n = strcspn(at, " \t");
        Reading r = { .pattern = ret, .n_before = (size_t)(at - begin), .error = ret_error };

        *ret = (Pattern){};
        if (n == 0)
                return PATTERN_END;
        r.p = ret->text;
        if (n >= PATTERN_TEXT_MAX)
                return invalid(&r, "this pattern is too long");

        memcpy(ret->text, at, n);
        *text = at + n;
        return read_pattern(&r);
}

int pattern_check(const char *text, char ret_error[static PATTERN_ERROR_MAX]) {
        const char *p = text;
        Pattern pattern;
        int outcome;

        do
                outcome = pattern_next(text, &p, &pattern, ret_error);
        while (outcome == 0);

        return outcome == PATTERN_END ? 0 : outcome;
}

/* --- matching a name ---------------------------------------------------------------------------- */

/*
 * at[p]: the name from offset p matches the rest of the elements. There is a Rest for each element and one for the
 * end.
 */
typedef struct Rest {
        bool at[NAME_BYTES_MAX + 1];
} Rest;

/* Position of a capture. */
typedef struct PatternCapture {
        const char *text; /* NULL: not captured */
        size_t n;
} PatternCapture;

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Crockford's base 32: 0…9 and A…Z without I, L, O and U, in either case. */
static bool is_base32(char c) {
        return c != '\0' && strchr("0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz", c);
}

static bool is_sluid(const char *text, size_t n) {
        if (n < SLUID_CHARACTERS || text[0] != 's')
                return false;
        for (size_t i = 1; i < SLUID_CHARACTERS; i++)
                if (!is_base32(text[i]))
                        return false;
        return true;
}

/*
 * Returns true if the elements from `element` on match at p. next: the results of the following elements; own: the
 * results of this element, known from p + 1 on.
 */
static bool matches_at(const Pattern *pattern, size_t element, PatternCapture name, size_t p, const Rest *next,
                       const Rest *own) {
        const char *text = pattern->text + pattern->elements[element].at;
        size_t n = pattern->elements[element].n, n_left = name.n - p;

        switch (pattern->elements[element].kind) {
        case PATTERN_TEXT:
                return n <= n_left && memcmp(text, name.text + p, n) == 0 && next->at[p + n];
        case PATTERN_ANY:
        case PATTERN_NODE:
                return next->at[p] || (n_left > 0 && own->at[p + 1]);
        case PATTERN_JOB:
                return n_left > 0 && (next->at[p + 1] || own->at[p + 1]);
        case PATTERN_UID:
                return n_left > 0 && is_digit(name.text[p]) && (next->at[p + 1] || own->at[p + 1]);
        case PATTERN_SLUID:
                return is_sluid(name.text + p, n_left) && next->at[p + SLUID_CHARACTERS];
        case N_PATTERN_KINDS:
                break;
        }
        return false;
}

/* Returns the end of the shortest match of an element that starts at p. */
static size_t end_of(const Pattern *pattern, size_t element, size_t p, const Rest *next) {
        switch (pattern->elements[element].kind) {
        case PATTERN_TEXT:
                return p + pattern->elements[element].n;
        case PATTERN_SLUID:
                return p + SLUID_CHARACTERS;
        case PATTERN_JOB:
        case PATTERN_UID:
                p++;
                break;
        case PATTERN_ANY:
        case PATTERN_NODE:
        case N_PATTERN_KINDS:
                break;
        }
        while (!next->at[p])
                p++;
        return p;
}

/*
 * Returns true if the name does not start with the literal text of its first element: a quick test that rejects most
 * names.
 */
static bool has_other_prefix(const Pattern *pattern, size_t element, PatternCapture name) {
        const char *text = pattern->text + pattern->elements[element].at;
        size_t n = pattern->elements[element].n;

        return pattern->elements[element].kind == PATTERN_TEXT && (n > name.n || memcmp(text, name.text, n) != 0);
}

/* Returns true if the name matches the component. spans: receives captures, indexed by kind; may be NULL. */
static bool match_name(const Pattern *pattern, size_t component, PatternCapture name, PatternCapture *spans) {
        size_t first = pattern->components[component].first, n = pattern->components[component].n;
        Rest rests[PATTERN_NAME_ELEMENTS_MAX + 1];

        if (name.n > NAME_BYTES_MAX || has_other_prefix(pattern, first, name))
                return false;

        for (size_t p = 0; p <= name.n; p++)
                rests[n].at[p] = p == name.n;
        for (size_t i = n; i-- > 0;)
                for (size_t p = name.n + 1; p-- > 0;)
                        rests[i].at[p] = matches_at(pattern, first + i, name, p, &rests[i + 1], &rests[i]);
        if (!rests[0].at[0] || !spans)
                return rests[0].at[0];

        for (size_t i = 0, p = 0; i < n; i++) {
                size_t end = end_of(pattern, first + i, p, &rests[i + 1]);

                spans[pattern->elements[first + i].kind] = (PatternCapture){ name.text + p, end - p };
                p = end;
        }
        return true;
}

/* --- matching level by level -------------------------------------------------------------------- */

/* ** also matches no name at all: a state before it implies the state after it. */
static PatternStates add_skipped_levels(const Pattern *pattern, PatternStates states) {
        for (size_t i = 0; i < pattern->n_components; i++)
                if (pattern->components[i].is_any_number && states & (1U << i))
                        states |= 1U << (i + 1);
        return states;
}

static PatternStates step(const Pattern *pattern, PatternStates states, PatternCapture name) {
        PatternStates next = 0;

        for (size_t i = 0; i < pattern->n_components; i++) {
                if (!(states & (1U << i)))
                        continue;
                if (pattern->components[i].is_any_number)
                        next |= 1U << i;
                else if (match_name(pattern, i, name, NULL))
                        next |= 1U << (i + 1);
        }

        return add_skipped_levels(pattern, next);
}

PatternStates pattern_begin(const Pattern *pattern) {
        return add_skipped_levels(pattern, 1);
}

PatternStates pattern_step(const Pattern *pattern, PatternStates states, const char *name) {
        return step(pattern, states, (PatternCapture){ name, strlen(name) });
}

bool pattern_is_match(const Pattern *pattern, PatternStates states) {
        return states & (1U << pattern->n_components);
}

bool pattern_expects_job(const Pattern *pattern, PatternStates states) {
        return states & (1U << (pattern->n_components - 1));
}

/* --- matching a path ---------------------------------------------------------------------------- */

/* The names of a path, up to the first match, and the states after each; states[0] is that of the root. */
typedef struct PatternPath {
        PatternCapture names[PATH_COMPONENTS_MAX];
        PatternStates states[PATH_COMPONENTS_MAX + 1];
        size_t n;
} PatternPath;

static bool walk_path(const Pattern *pattern, const char *path, PatternPath *walk) {
        walk->n = 0;
        walk->states[0] = pattern_begin(pattern);

        while (*path == '/' && walk->n < PATH_COMPONENTS_MAX) {
                PatternCapture name = { path + 1, strcspn(path + 1, "/") };

                walk->names[walk->n] = name;
                walk->states[walk->n + 1] = step(pattern, walk->states[walk->n], name);
                walk->n++;
                if (pattern_is_match(pattern, walk->states[walk->n]))
                        return true;
                path = name.text + name.n;
        }
        return false;
}

/* Reconstructs one of the possible matches, from its end: each state that was reached has a predecessor. */
static void find_spans(const Pattern *pattern, const PatternPath *walk, PatternCapture spans[static N_PATTERN_KINDS]) {
        size_t depth = walk->n, state = pattern->n_components;

        while (state > 0) {
                bool is_any_number = pattern->components[state - 1].is_any_number;
                bool came_before = depth > 0 && walk->states[depth - 1] & (1U << (state - 1));

                if (is_any_number && walk->states[depth] & (1U << (state - 1)))
                        state--;
                else if (!is_any_number && came_before && match_name(pattern, state - 1, walk->names[depth - 1], spans))
                        state--, depth--;
                else
                        depth--; /* this name was matched by the ** */
        }
}

static bool is_id_character(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || (c != '\0' && strchr("_.:-", c));
}

/* Copies a capture as an id. Returns false if it is too long. */
static bool copy_id(PatternCapture span, char ret[static JOB_ID_MAX]) {
        if (span.n >= JOB_ID_MAX)
                return false;

        for (size_t i = 0; i < span.n; i++)
                ret[i] = is_id_character(span.text[i]) ? span.text[i] : '_';
        ret[span.n] = '\0';
        return true;
}

static PatternCapture strip_underscores(PatternCapture span) {
        if (span.n > 0 && span.text[0] == '_')
                span = (PatternCapture){ span.text + 1, span.n - 1 };
        if (span.n > 0 && span.text[span.n - 1] == '_')
                span.n--;
        return span;
}

static bool take_uid(PatternCapture digits, uint32_t *ret) {
        uint64_t v = 0;

        for (size_t i = 0; i < digits.n && v <= UINT32_MAX; i++)
                v = v * 10 + (uint64_t)(digits.text[i] - '0');
        *ret = (uint32_t)v;
        return v <= UINT32_MAX;
}

static bool take_spans(const PatternCapture spans[static N_PATTERN_KINDS], PatternMatch *match) {
        match->is_sluid = spans[PATTERN_SLUID].text;
        match->has_uid = spans[PATTERN_UID].text;
        return copy_id(spans[match->is_sluid ? PATTERN_SLUID : PATTERN_JOB], match->job) &&
               copy_id(strip_underscores(spans[PATTERN_NODE]), match->node) &&
               take_uid(spans[PATTERN_UID], &match->uid);
}

int pattern_match(const Pattern *pattern, const char *path, PatternMatch *ret) {
        PatternCapture spans[N_PATTERN_KINDS] = {};
        PatternMatch match;
        PatternPath walk;

        if (!walk_path(pattern, path, &walk))
                return PATTERN_NO_MATCH;
        find_spans(pattern, &walk, spans);
        if (!take_spans(spans, &match))
                return PATTERN_NO_MATCH;

        match.n_path = (size_t)(walk.names[walk.n - 1].text + walk.names[walk.n - 1].n - path);
        *ret = match;
        return 0;
}
