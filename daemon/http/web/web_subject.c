/* SPDX-License-Identifier: Apache-2.0 */
#include "http/web/web_subject.h"

#include <string.h>

#include "http/jobs/job_lookup.h"

/* All URLs in the page are relative to this element, since a portal may add a prefix that perfd does not know. */
#define BASE_BEGIN "<base href=\""
#define BASE BASE_BEGIN "./\">"

/* The page, for a path of any depth: scripts of the page show what the path names. */
static void answer_page(const Target *target, const Sources *sources, Response *response) {
        const Asset *page = &web_files[0];
        const char *base = strstr(page->bytes, BASE);

        (void)sources;
        response->type = CONTENT_HTML;
        if (target->n_segments <= 1 || !base) {
                response->file = page;
                return;
        }

        buffer_clear(response->body);
        buffer_put(response->body, page->bytes, (size_t)(base - page->bytes) + strlen(BASE_BEGIN));
        for (size_t i = 1; i < target->n_segments; i++)
                buffer_puts(response->body, "../");
        buffer_puts(response->body, base + strlen(BASE_BEGIN "./"));
}

static void answer_job(const Target *target, const Sources *sources, Response *response) {
        FoundJob job;

        if (job_lookup(target, sources, response, &job) == 0)
                answer_page(target, sources, response);
}

static bool is_at(const char *path, const Target *target) {
        for (size_t i = 0; i < target->n_segments; i++) {
                size_t n = strlen(target->segments[i]);

                if (strncmp(path, target->segments[i], n) != 0 || path[n] != (i + 1 < target->n_segments ? '/' : '\0'))
                        return false;
                path += n + 1;
        }
        return true;
}

static void answer_file(const Target *target, const Sources *sources, Response *response) {
        const Asset *file = web_files;

        (void)sources;
        while (file->path && !is_at(file->path, target))
                file++;
        if (file->path)
                response->file = file;
        else
                (void)exchange_error(response, 404, "the web page has no file '%s'", target->argument);
}

const Subject web_subject = {
        .routes = ROUTES(
                { "/",                    "", false, false, answer_page },
                { "/jobs/{id}",           "", false, true,  answer_job },
                { "/indicators/{name}",   "", false, false, answer_page },
                { "/app/{file}",          "", false, false, answer_file },
                { "/figures/{file}",      "", false, false, answer_file },
                { "/vendor/uplot/{file}", "", false, false, answer_file }),
};
