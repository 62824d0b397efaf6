/* SPDX-License-Identifier: Apache-2.0 */
#include "client/format/regex.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"

#define LIBRARY "libpcre2-8.so.0"
/* In front of each expression: steps at one place of the text, and KiB of memory. */
#define LIMITS "(*LIMIT_MATCH=1000000)(*LIMIT_HEAP=65536)"

/* Numbers of pcre2.h, which are part of the library's ABI. */
#define PCRE2_MULTILINE 0x00000400U
#define PCRE2_UTF 0x00080000U
#define PCRE2_NEVER_BACKSLASH_C 0x00100000U
#define PCRE2_NO_UTF_CHECK 0x40000000U
#define COMPILE_OPTIONS (PCRE2_MULTILINE | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C)
#define PCRE2_INFO_NAMECOUNT 17U
#define PCRE2_INFO_NAMEENTRYSIZE 18U
#define PCRE2_INFO_NAMETABLE 19U
#define PCRE2_ERROR_NOMATCH (-1)

typedef struct pcre2_code pcre2_code;
typedef struct pcre2_match_data pcre2_match_data;

/* Result, name and parameters of the functions. */
#define FUNCTIONS(X)                                                                                                   \
        X(pcre2_code *, pcre2_compile_8, const char *, size_t, uint32_t, int *, size_t *, void *)                      \
        X(void, pcre2_code_free_8, pcre2_code *)                                                                       \
        X(int, pcre2_pattern_info_8, const pcre2_code *, uint32_t, void *)                                             \
        X(pcre2_match_data *, pcre2_match_data_create_from_pattern_8, const pcre2_code *, void *)                      \
        X(void, pcre2_match_data_free_8, pcre2_match_data *)                                                           \
        X(int, pcre2_match_8, const pcre2_code *, const char *, size_t, size_t, uint32_t, pcre2_match_data *, void *)  \
        X(size_t *, pcre2_get_ovector_pointer_8, pcre2_match_data *)                                                   \
        X(int, pcre2_get_error_message_8, int, unsigned char *, size_t)

struct Regex {
        void *library; /* stays loaded */
#define X(type, name, ...) type (*name)(__VA_ARGS__);
        FUNCTIONS(X)
#undef X
        pcre2_code *code;           /* these are owned */
        pcre2_match_data *data;
        const unsigned char *names; /* table of the groups, borrowed from the code */
        uint32_t n_names, n_name_bytes;
};

void regex_free(Regex *regex) {
        if (!regex)
                return;
        if (regex->code)
                regex->pcre2_code_free_8(regex->code);
        if (regex->data)
                regex->pcre2_match_data_free_8(regex->data);
        free(regex);
}

static inline void regex_freep(Regex **regex) {
        regex_free(*regex);
}

static int regex_load(Regex *regex, char ret_error[static REGEX_ERROR_MAX]) {
        bool is_whole = true;

        regex->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!regex->library) {
                (void)snprintf(ret_error, REGEX_ERROR_MAX,
                               "regular expressions need " LIBRARY " (package libpcre2-8-0, or pcre2): %.160s",
                               dlerror());
                return REGEX_WRONG;
        }
#define X(type, name, ...) regex->name = dlsym(regex->library, #name), is_whole &= regex->name != NULL;
        FUNCTIONS(X)
#undef X
        if (!is_whole)
                (void)snprintf(ret_error, REGEX_ERROR_MAX, LIBRARY " is older than version 10.30");
        return is_whole ? 0 : REGEX_WRONG;
}

int regex_new(Regex **ret, const char *pattern, char ret_error[static REGEX_ERROR_MAX]) {
        scoped(regex_freep) Regex *regex = calloc(1, sizeof(*regex));
        scoped(buffer_deinit) Buffer limited = {};
        unsigned char reason[160] = "";
        size_t at;
        int r, e;

        if (!regex)
                return -ENOMEM;
        r = regex_load(regex, ret_error);
        if (r != 0)
                return r;

        buffer_puts(&limited, LIMITS);
        buffer_puts(&limited, pattern);
        if (buffer_error(&limited) < 0)
                return -ENOMEM;
        regex->code = regex->pcre2_compile_8(limited.text, limited.n, COMPILE_OPTIONS, &e, &at, NULL);
        if (!regex->code) {
                (void)regex->pcre2_get_error_message_8(e, reason, sizeof(reason));
                (void)snprintf(ret_error, REGEX_ERROR_MAX, "'%.80s': %s at character %zu", pattern, reason,
                               at >= strlen(LIMITS) ? at + 1 - strlen(LIMITS) : 0);
                return REGEX_WRONG;
        }
        (void)regex->pcre2_pattern_info_8(regex->code, PCRE2_INFO_NAMECOUNT, &regex->n_names);
        (void)regex->pcre2_pattern_info_8(regex->code, PCRE2_INFO_NAMEENTRYSIZE, &regex->n_name_bytes);
        (void)regex->pcre2_pattern_info_8(regex->code, PCRE2_INFO_NAMETABLE, &regex->names);
        if (regex->n_names == 0 || regex->n_names > REGEX_GROUPS_MAX) {
                (void)snprintf(ret_error, REGEX_ERROR_MAX,
                               "'%.80s': expected 1 to %u named groups, as in (?<seconds>[0-9.]+)", pattern,
                               REGEX_GROUPS_MAX);
                return REGEX_WRONG;
        }

        regex->data = regex->pcre2_match_data_create_from_pattern_8(regex->code, NULL);
        if (!regex->data)
                return -ENOMEM;
        *ret = TAKE(regex);
        return 0;
}

int regex_find(const Regex *regex, const char *text, size_t n, size_t from, RegexMatch *ret,
               char ret_error[static REGEX_ERROR_MAX]) {
        unsigned char reason[160] = "";
        const size_t *places;
        int r;

        r = regex->pcre2_match_8(regex->code, text, n, from, PCRE2_NO_UTF_CHECK, regex->data, NULL);
        if (r == PCRE2_ERROR_NOMATCH)
                return REGEX_NONE;
        if (r < 0) {
                (void)regex->pcre2_get_error_message_8(r, reason, sizeof(reason));
                (void)snprintf(ret_error, REGEX_ERROR_MAX, "the regular expression cannot be matched: %s", reason);
                return REGEX_WRONG;
        }

        places = regex->pcre2_get_ovector_pointer_8(regex->data);
        *ret = (RegexMatch){ .begin = places[0], .end = places[1], .n_groups = regex->n_names };
        for (uint32_t i = 0; i < regex->n_names; i++) {
                const unsigned char *entry = regex->names + (size_t)i * regex->n_name_bytes;
                size_t group = (size_t)entry[0] << 8 | entry[1];

                ret->groups[i] = (RegexGroup){ (const char *)entry + 2, places[2 * group], places[2 * group + 1] };
        }
        return 0;
}
