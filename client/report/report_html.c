/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_html.h"

#include <string.h>
#include <sys/stat.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/cli/output.h"
#include "util/clock.h"
#include "util/embed.h"

/* Made by tools/bundle, see the Makefile. */
EMBED(report_html_page, REPORT_PAGE);
extern const char report_html_page[];

/* Queries besides that of the job: member of the data, and path. */
static const struct {
        const char *key, *before, *after;
} parts[] = {
        { "samples", "/api/v1/jobs/", "/samples" },
        { "pipeline", "/api/v1/jobs/", "/pipeline" },
        { "results", "/api/v1/results?limit=20&job=", "" },
};

static void data_begin(Json *json) {
        json_object_begin(json);
        json_put_uint(json, "time_ms", clock_realtime_ns() / NS_PER_MS);
        json_put_string(json, "version", PERFD_VERSION);
        json_put_array_begin(json, "reports");
}

static int data_end(Json *json, const char *file) {
        scoped(buffer_deinit) Buffer page = {};
        struct stat st;
        int r;

        json_array_end(json);
        json_object_end(json);
        r = buffer_error(json->out);
        if (r == 0)
                report_html_put(report_html_page, json->out, &page);
        if (r == 0)
                r = buffer_error(&page);
        if (r < 0)
                return command_fail(r);
        if (strcmp(file, "-") == 0)
                return output_print(&page);

        /* A device or a FIFO would be replaced by a file. */
        if (stat(file, &st) < 0 || S_ISREG(st.st_mode))
                return output_write_file(file, &page);
        message_print("cannot write %s: it is not a regular file", file);
        return EXIT_FAILED;
}

int report_html_write_job(ApiQuery *query, const char *file) {
        scoped(buffer_deinit) Buffer data = {}, id = {};
        Json json = { .out = &data };
        int r;

        data_begin(&json);
        json_object_begin(&json);
        value_put_json(query->answer, "job", &json);
        buffer_puts(&id, answer_text(query->answer, "id"));
        for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
                scoped(buffer_deinit) Buffer path = {};

                buffer_puts(&path, parts[i].before);
                buffer_put_encoded(&path, id.text);
                buffer_puts(&path, parts[i].after);
                r = api_query_ask_path(query, &path);
                if (r != EXIT_DONE)
                        return r;
                value_put_json(query->answer, parts[i].key, &json);
        }
        json_object_end(&json);
        return data_end(&json, file);
}

int report_html_write_run(const ReportRun *run, const char *file) {
        scoped(buffer_deinit) Buffer data = {};
        Json json = { .out = &data };

        data_begin(&json);
        for (size_t i = 0; i < run->n_reports; i++) {
                json_object_begin(&json);
                value_put_json(run->reports[i].job, "job", &json);
                json_object_end(&json);
        }
        return data_end(&json, file);
}

#define DATA_MARK "@DATA@"

/* Texts of jobs may have "</script>": in JSON, < is in strings only. */
void report_html_put(const char *page, const Buffer *data, Buffer *out) {
        const char *mark = strstr(page, DATA_MARK), *less;

        buffer_put(out, page, (size_t)(mark - page));
        for (const char *p = data->text; p; p = less ? less + 1 : NULL) {
                less = strchr(p, '<');
                buffer_put(out, p, less ? (size_t)(less - p) : strlen(p));
                if (less)
                        buffer_puts(out, "\\u003c");
        }
        buffer_puts(out, mark + strlen(DATA_MARK));
}
