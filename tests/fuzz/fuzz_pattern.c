/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any pattern on any path
 *
 * Input: a line with patterns, a line with a path. The target asserts that walking the tree and matching the whole
 * path have
 * the same result, that captured ids are valid, and that the position of an error is inside the text.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "document/indicator.h"
#include "sample/detection/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a walk finds the job: bytes of the path, 0 for nowhere. */
static size_t walk(const Pattern *pattern, const char *path) {
        PatternStates states = pattern_begin(pattern);
        const char *p = path;

        for (size_t depth = 0; *p == '/' && states && depth < 256; depth++) {
                size_t n = strcspn(p + 1, "/");
                char *name = strndup(p + 1, n);

                assert(name);
                assert(!pattern_is_match(pattern, states));
                states = pattern_step(pattern, states, name);
                free(name);
                p += n + 1;
                if (pattern_is_match(pattern, states))
                        return (size_t)(p - path);
        }
        return 0;
}

static void check_match(const Pattern *pattern, const char *path) {
        size_t n_walked = walk(pattern, path);
        PatternMatch match, again;
        char *cut;

        if (pattern_match(pattern, path, &match) != 0)
                return; /* not there, or an id that is too long */
        assert(n_walked == match.n_path && match.n_path <= strlen(path));
        assert(indicator_name_is_valid(match.job, JOB_ID_MAX - 1));
        assert(!match.node[0] || indicator_name_is_valid(match.node, JOB_ID_MAX - 1));
        assert(!match.is_sluid || strlen(match.job) == 14);

        cut = strndup(path, match.n_path);
        assert(cut && pattern_match(pattern, cut, &again) == 0);
        assert(strcmp(match.job, again.job) == 0 && strcmp(match.node, again.node) == 0 && match.uid == again.uid);
        free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = strndup((const char *)data, size), *path = text, error[PATTERN_ERROR_MAX] = "";
        const char *patterns, *p;
        Pattern pattern;
        int r;

        assert(text);
        patterns = p = strsep(&path, "\n");
        while ((r = pattern_next(patterns, &p, &pattern, error)) == 0)
                check_match(&pattern, path ? path : "");
        assert(r == PATTERN_END || r == PATTERN_INVALID);
        assert((pattern_check(patterns, error) == 0) == (r == PATTERN_END));
        if (r == PATTERN_INVALID) {
                unsigned long at = strtoul(error + strlen("character "), NULL, 10);

                assert(strncmp(error, "character ", 10) == 0 && at >= 1 && at <= strlen(patterns) + 1);
        }

        free(text);
        return 0;
}
