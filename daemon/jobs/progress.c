/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/buffer.h"
#include "util/parse.h"

/*
 * Sections, each after a line that begins with '=', which no line inside one does. The first has no such line:
 *
 *   window …
 *   =job announced=1 cut=0 phases=3 vouched=0 group=4711
 *   =usage
 *   usage …
 *   =phase 2 1763750000000 name of the phase
 *   window …
 *   =phase-usage
 *   usage …
 */

static int put_window(const Window *window, Buffer *out) {
        scoped(freep) char *text = NULL;
        int r;

        r = window_format(window, &text);
        if (r == 0)
                buffer_puts(out, text);
        return r;
}

static int put_usage(const char *title, const Usage *usage, Buffer *out) {
        scoped(freep) char *text = NULL;
        int r;

        r = usage_format(usage, &text);
        if (r == 0)
                buffer_printf(out, "%s\n%s", title, text);
        return r;
}

static int put_phase(const Phase *phase, Buffer *out) {
        int r;

        buffer_printf(out, "=phase %u %lu %s\n", phase->index, (unsigned long)phase->begin_realtime_ms, phase->name);
        r = put_window(&phase->window, out);
        if (r == 0 && phase->has_usage)
                r = put_usage("=phase-usage", &phase->usage, out);
        return r;
}

int progress_format(const Job *job, const Phase *phase, uint32_t n_phases, char **ret) {
        scoped(buffer_deinit) Buffer out = {};
        char *text;
        int r;

        r = put_window(&job->window, &out);
        if (r < 0)
                return r;

        buffer_printf(&out, "=job announced=%d cut=%d phases=%u vouched=%d group=%lu\n", job->is_announced, job->group.is_usage_cut,
                      n_phases, job->group.is_vouched, (unsigned long)job->group.id);
        if (job->group.usage)
                r = put_usage("=usage", job->group.usage, &out);
        if (r == 0 && phase)
                r = put_phase(phase, &out);
        if (r < 0)
                return r;

        text = buffer_take(&out);
        if (!text)
                return -ENOMEM;
        *ret = text;
        return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int parse_job(const char *title, Progress *progress) {
        int announced, cut, vouched;
        unsigned long group = 0;

        /* Where the group is not said, an earlier version wrote it. */
        if (sscanf(title, "=job announced=%d cut=%d phases=%u vouched=%d group=%lu", &announced, &cut, &progress->n_phases, &vouched,
                   &group) < 4)
                return PARSE_MALFORMED;

        progress->group_id = group;
        progress->is_announced = announced != 0;
        progress->is_usage_cut = cut != 0;
        progress->is_group_vouched = vouched != 0;
        return 0;
}

static int parse_phase(const char *title, const char *text, Progress *progress) {
        Phase *phase = &progress->phase;
        const char *end = strchr(title, '\n');
        unsigned long begin_ms;
        int at = 0;

        if (!end || sscanf(title, "=phase %u %lu%n", &phase->index, &begin_ms, &at) != 2 || title[at] != ' ' ||
            (size_t)(end - title - at) > sizeof(phase->name))
                return PARSE_MALFORMED;

        (void)snprintf(phase->name, sizeof(phase->name), "%.*s", (int)(end - title - at - 1), title + at + 1);
        phase->begin_realtime_ms = begin_ms;
        progress->has_phase = true;
        return window_parse(text, &phase->window);
}

static bool is_titled(const char *title, const char *name) {
        size_t n = strlen(name);

        return strncmp(title, name, n) == 0 && (title[n] == ' ' || title[n] == '\n');
}

/* A section of a later version is not ours to judge. */
static int parse_section(const char *title, const char *text, Progress *progress) {
        if (is_titled(title, "=job"))
                return parse_job(title, progress);
        if (is_titled(title, "=phase"))
                return parse_phase(title, text, progress);
        if (is_titled(title, "=usage")) {
                progress->has_usage = true;
                return usage_parse(text, &progress->usage);
        }
        if (is_titled(title, "=phase-usage")) {
                progress->phase.has_usage = true;
                return usage_parse(text, &progress->phase.usage);
        }
        return 0;
}

int progress_parse(const char *text, Progress *ret) {
        Progress progress = { .is_announced = true };
        int r;

        r = window_parse(text, &progress.window);
        for (const char *title = strstr(text, "\n="); r == 0 && title; title = strstr(title, "\n=")) {
                const char *line_end = strchr(++title, '\n');

                if (!line_end)
                        return PARSE_MALFORMED;
                r = parse_section(title, line_end + 1, &progress);
                title = line_end - 1; /* the next title may be the next line */
        }
        if (r != 0)
                return r;

        *ret = progress;
        return 0;
}
