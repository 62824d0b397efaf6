/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/log_scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "text/text.h"
#include "util/scoped.h"
#include "util/utf8.h"

typedef struct LogScan {
        const char *name;
        LogPattern *patterns;
        size_t n_patterns;
        Findings *findings;
        size_t line;      /* of the text that is searched */
        bool skips_rest;  /* of a line that is too long */
        size_t n_long;    /* lines that are too long */
        Buffer valid;     /* of the block */
} LogScan;

static void scan_deinit(LogScan *scan) {
        buffer_deinit(&scan->valid);
}

void log_scan_pattern_deinit(LogPattern *pattern) {
        buffer_deinit(&pattern->texts);
}

/* Returns the group named value, or the first group that takes part in the match. */
static const RegexGroup *find_group(const RegexMatch *match) {
        const RegexGroup *found = NULL;

        for (size_t i = 0; i < match->n_groups; i++)
                if (match->groups[i].begin != SIZE_MAX && (!found || strcmp(match->groups[i].name, "value") == 0))
                        found = &match->groups[i];
        return found;
}

static void take_match(LogScan *scan, LogPattern *pattern, const char *line, const RegexGroup *group) {
        if (pattern->takes_all && pattern->n == LOG_SCAN_MATCHES_MAX) {
                findings_error(scan->findings, "%s:%zu: more than %u lines match; which: first or last takes one",
                               scan->name, scan->line, LOG_SCAN_MATCHES_MAX);
                pattern->has_failed = pattern->is_done = true;
                return;
        }
        if (!pattern->takes_all)
                buffer_clear(&pattern->texts);
        buffer_put(&pattern->texts, line + group->begin, group->end - group->begin);
        buffer_putc(&pattern->texts, '\0');
        pattern->n = pattern->takes_all ? pattern->n + 1 : 1;
        pattern->line = scan->line;
        pattern->is_done = pattern->takes_first;
}

static void search_line(LogScan *scan, const char *line, size_t n) {
        char error[REGEX_ERROR_MAX];

        for (size_t i = 0; i < scan->n_patterns; i++) {
                LogPattern *pattern = &scan->patterns[i];
                const RegexGroup *group;
                RegexMatch match;
                int r;

                if (pattern->is_done)
                        continue;
                r = regex_find(pattern->regex, line, n, 0, &match, error);
                if (r == REGEX_WRONG) {
                        findings_error(scan->findings, "%s:%zu: %s", scan->name, scan->line, error);
                        pattern->has_failed = pattern->is_done = true;
                }
                group = r == 0 ? find_group(&match) : NULL;
                if (group)
                        take_match(scan, pattern, line, group);
        }
}

/* Searches lines. ends_line: the last one is complete. */
static int search(LogScan *scan, const char *text, size_t n, bool ends_line) {
        const char *p = text, *end = text + n;

        if (!utf8_is_valid(text, n) || memchr(text, '\0', n)) {
                buffer_clear(&scan->valid);
                text_put_valid(&scan->valid, text, n);
                if (buffer_error(&scan->valid) < 0)
                        return -ENOMEM;
                p = scan->valid.text ?: "";
                end = p + scan->valid.n;
        }
        while (p < end) {
                const char *newline = memchr(p, '\n', (size_t)(end - p)), *last = newline ?: end;

                if (!scan->skips_rest)
                        search_line(scan, p, (size_t)(last - p) - (last > p && last[-1] == '\r'));
                if (!newline)
                        break;
                scan->skips_rest = false;
                scan->line++;
                p = newline + 1;
        }
        if (!ends_line && !scan->skips_rest) {
                scan->skips_rest = true;
                scan->n_long++;
        }
        return 0;
}

static bool is_done(const LogScan *scan) {
        for (size_t i = 0; i < scan->n_patterns; i++)
                if (!scan->patterns[i].is_done)
                        return false;
        return true;
}

/* Searches the complete lines in the block, and moves the rest to its front. Returns its length. */
static int take_block(LogScan *scan, char *block, size_t *n, bool is_end) {
        const char *newline = memrchr(block, '\n', *n);
        size_t n_lines = newline ? (size_t)(newline - block) + 1 : 0;
        bool is_cut = n_lines == 0 && *n == LOG_SCAN_LINE_MAX;
        int r;

        if (is_end || is_cut)
                n_lines = *n;
        r = n_lines > 0 ? search(scan, block, n_lines, !is_cut) : 0;
        *n -= n_lines;
        memmove(block, block + n_lines, *n);
        return r;
}

int log_scan(int fd, const char *name, LogPattern *patterns, size_t n, Findings *findings) {
        scoped(scan_deinit) LogScan scan = { .name = name, .patterns = patterns, .n_patterns = n, .line = 1,
                                             .findings = findings };
        scoped(freep) char *block = malloc(LOG_SCAN_LINE_MAX);
        size_t n_block = 0;
        ssize_t k = 1;
        int r = block ? 0 : -ENOMEM;

        while (r == 0 && k != 0 && !is_done(&scan)) {
                k = read(fd, block + n_block, LOG_SCAN_LINE_MAX - n_block);
                if (k < 0 && errno != EINTR)
                        return -errno;
                n_block += k > 0 ? (size_t)k : 0;
                r = k >= 0 ? take_block(&scan, block, &n_block, k == 0) : 0;
        }
        if (r == 0 && scan.n_long > 0)
                findings_warn(findings, "%s: lines of more than 1 MiB, searched in their first MiB only: %zu", name,
                              scan.n_long);
        return r;
}
