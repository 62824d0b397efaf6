/* SPDX-License-Identifier: Apache-2.0 */
#include "client/matrix/results_page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"
#include "client/cli/message.h"
#include "client/matrix/results_store.h"
#include "client/matrix/test_values.h"
#include "client/report/report_html.h"
#include "json/json_text.h"
#include "util/clock.h"
#include "util/embed.h"

/* Made by tools/bundle, see the Makefile. */
EMBED(results_page, RESULTS_PAGE);
extern const char results_page[];

#define LOGS_MAX 100U /* tests that failed whose logs are in a page */

/* --- logs: the ends of the outputs of tests that failed ----------------------------------------------- */

/* Appends the end of a file from the beginning of a line on. */
static void put_end(int fd, off_t size, const char *name, Buffer *out) {
        char text[RESULTS_LOG_BYTES_MAX];
        off_t from = size > (off_t)sizeof(text) ? size - (off_t)sizeof(text) : 0;
        ssize_t n = pread(fd, text, sizeof(text), from);
        const char *begin = text, *line = from > 0 && n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

        if (line && line + 1 < text + n)
                begin = line + 1;
        if (n <= 0)
                return;
        buffer_printf(out, "%s%s:\n%s", out->n > 0 ? "\n" : "", name, from > 0 ? "…\n" : "");
        for (const char *p = begin; p < text + n; p++)
                buffer_putc(out, *p ?: ' ');
}

static int put_file(const TestTree *tree, TestRecord *record, const char *pattern, Buffer *out) {
        scoped(buffer_deinit) Buffer path = {};
        struct stat st;
        int fd, r;

        if (!results_file_is_inner_path(pattern))
                return 0;
        r = test_values_find(tree, record, pattern, &path);
        if (r != 0 || test_tree_open(tree, path.text, &fd, &st) != 0)
                return r < 0 ? r : 0;
        put_end(fd, st.st_size, path.text + strlen(record->path) + 1, out);
        (void)close(fd);
        return 0;
}

int results_page_put_log(const ResultsFile *file, const TestTree *tree, TestRecord *record, Buffer *out) {
        static const char *const defaults[] = { "stderr", "stdout" };
        const Value *logs = value_get_given(file->root, "logs");
        size_t n = logs ? logs->n_items : N_ELEMENTS(defaults);
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = put_file(tree, record, logs ? logs->items[i].string : defaults[i], out);
        return r < 0 ? r : buffer_error(out);
}

/* --- tests ---------------------------------------------------------------------------------------- */

/* Writes the members of an object, apart from lists that no plot shows. member: of each, instead of itself. */
static int put_members(const ResultsRun *run, JsonText object, const char *member, Json *json) {
        JsonWalk walk = json_text_walk(object);
        JsonText key, value;

        while (json_text_walk_next(&walk, &key, &value)) {
                scoped(buffer_deinit) Buffer name = {};

                json_text_decode(key, &name);
                if (buffer_error(&name) < 0)
                        return -ENOMEM;
                if (member)
                        value = json_text_find(value, member);
                if (json_text_kind(value) == JSON_KIND_LIST &&
                    !results_plots_show(run->matrix.file.root, name.text ?: ""))
                        continue;
                json_key(json, name.text ?: "");
                json_text_write(value, json);
        }
        return 0;
}

/* The values, then the results and the KPIs, which may be computed of them. */
static int put_numbers(const ResultsRun *run, size_t i, Json *json) {
        const Payload *payload = run->payloads ? &run->payloads[i] : NULL;
        const char *values = run->matrix.values[i].json, *kpis = payload && payload->kpis ? payload->kpis : "{}";
        const JsonText document = payload ? json_text(payload->text, strlen(payload->text)) : (JsonText){};
        const struct {
                const char *key, *member;
                JsonText numbers;
        } parts[] = { { "values", NULL, json_text(values, strlen(values)) },
                      { "results", NULL, json_text_find(document, "@result") },
                      { "kpis", "value", json_text(kpis, strlen(kpis)) } };
        int r = 0;

        for (size_t k = 0; k < (payload ? N_ELEMENTS(parts) : 1) && r == 0; k++) {
                json_put_object_begin(json, parts[k].key);
                r = put_members(run, parts[k].numbers, parts[k].member, json);
                json_object_end(json);
        }
        return r;
}

static int put_test(const ResultsRun *run, size_t i, bool with_log, Json *json) {
        TestRecord *record = &run->matrix.tree.records[i];
        scoped(buffer_deinit) Buffer log = {};
        int r;

        json_object_begin(json);
        json_put_string(json, "path", record->path);
        json_put_int(json, "exit_code", record->exit_code);
        json_put_uint(json, "start_ms", run->matrix.values[i].start_ns / NS_PER_MS);
        json_put_uint(json, "end_ms", run->matrix.values[i].end_ns / NS_PER_MS);
        json_put_object_begin(json, "settings");
        r = payload_put_settings(record, false, json);
        json_object_end(json);
        json_put_object_begin(json, "labels");
        if (r == 0)
                r = payload_put_settings(record, true, json);
        json_object_end(json);
        if (r == 0)
                r = put_numbers(run, i, json);
        if (r == 0 && with_log)
                r = results_page_put_log(&run->matrix.file, &run->matrix.tree, record, &log);
        if (log.n > 0)
                json_put_string(json, "log", log.text);
        json_key(json, "findings");
        findings_write_json(&record->findings, json);
        json_object_end(json);
        return r;
}

static int put_tests(const ResultsRun *run, Json *json) {
        const TestTree *tree = &run->matrix.tree;
        size_t n_logs = 0;
        int r = 0;

        json_put_array_begin(json, "tests");
        for (size_t i = 0; i < tree->n && r == 0; i++)
                if (!tree->records[i].left_out)
                        r = put_test(run, i, tree->records[i].exit_code != 0 && n_logs++ < LOGS_MAX, json);
        json_array_end(json);
        return r;
}

/* --- plots about one test ------------------------------------------------------------------------- */

/* Appends what a filter compares, a setting or else a number of a test: as valueOf() in web/report/plots.js. */
static void put_text_of(const ResultsRun *run, size_t i, const char *key, Buffer *out) {
        const Payload *payload = run->payloads ? &run->payloads[i] : NULL;
        const char *texts[] = { run->matrix.tree.records[i].settings, payload && payload->kpis ? payload->kpis : "{}",
                                payload ? payload->text : "{}", run->matrix.values[i].json };
        JsonText found = {};

        for (size_t k = 0; k < N_ELEMENTS(texts) && !found.text; k++) {
                JsonText all = json_text(texts[k], strlen(texts[k]));

                found = json_text_find(k == 2 ? json_text_find(all, "@result") : all, key);
                found = k == 1 ? json_text_find(found, "value") : found;
        }
        if (json_text_kind(found) == JSON_KIND_STRING)
                json_text_decode(found, out);
        else
                buffer_put(out, found.text ?: "null", found.text ? found.n : strlen("null"));
}

/* True if a test has one of the values of a setting: a scalar, or a list. */
static bool has_value(const ResultsRun *run, size_t i, const char *key, const Value *values) {
        scoped(buffer_deinit) Buffer text = {};
        bool is_list = values->type == VALUE_LIST, is_found = false;

        put_text_of(run, i, key, &text);
        for (size_t k = 0; k < (is_list ? values->n_items : 1) && !is_found; k++) {
                const Value *value = is_list ? &values->items[k] : values;
                scoped(buffer_deinit) Buffer own = {};

                if (value->type == VALUE_STRING)
                        buffer_puts(&own, value->string);
                else
                        value_write_json(value, &(Json){ .out = &own });
                is_found = own.n == text.n && memcmp(own.text ?: "", text.text ?: "", own.n) == 0;
        }
        return is_found;
}

/* As above, of "SETTING=VALUE:VALUE", up to a comma. */
static bool has_condition(const ResultsRun *run, size_t i, const char *p) {
        scoped(buffer_deinit) Buffer key = {}, text = {};
        size_t n;

        p += strspn(p, " ");
        buffer_printf(&key, "%.*s", (int)strcspn(p, " ="), p);
        put_text_of(run, i, key.text ?: "", &text);
        for (p = strchr(p, '=') + 1, n = strcspn(p, ":,"); n != text.n || memcmp(p, text.text ?: "", n) != 0;
             p += n + 1, n = strcspn(p, ":,"))
                if (p[n] != ':')
                        return false;
        return true;
}

/* True if a test has the settings of a filter, which has been checked; NULL: there is none. */
static bool passes(const ResultsRun *run, size_t i, const Value *filter) {
        bool does_pass = true;

        for (size_t k = 0; filter && filter->type == VALUE_OBJECT && k < filter->n_members && does_pass; k++)
                does_pass = has_value(run, i, filter->members[k].key, &filter->members[k].value);
        for (const char *p = filter && filter->type == VALUE_STRING ? filter->string : NULL; p && does_pass;
             p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
                does_pass = has_condition(run, i, p);
        return does_pass;
}

/* Says so if a plot about one test has another number of tests. part: of a report, which may change the plot. */
static void check_single(const ResultsRun *run, const char *report, const char *name, const Value *part) {
        const Value *plot = value_get(value_get_given(run->matrix.file.root, "plots"), name);
        const Value *single = value_get_given(part, "single") ?: value_get_given(plot, "single");
        size_t n = 0;

        if (!single || !single->boolean)
                return;
        for (size_t i = 0; i < run->matrix.tree.n; i++)
                n += !run->matrix.tree.records[i].left_out && passes(run, i, value_get_given(plot, "filter")) &&
                     passes(run, i, value_get_given(part, "filter"));
        if (n != 1)
                message_print("%s.html: plot %s: select one test: %zu match", report, name, n);
}

/* A report without parts is a plot, or shows all plots; parts within `entries` have other tests for each entry. */
static void check_singles(const ResultsRun *run, const char *report) {
        const Value *parts = value_get(value_get_given(run->matrix.file.root, "reports"), report);
        const Value *plots = value_get_given(run->matrix.file.root, "plots");

        for (size_t i = 0; parts && i < parts->n_items; i++)
                if (value_get_string(&parts->items[i], "plot"))
                        check_single(run, report, value_get_string(&parts->items[i], "plot"), &parts->items[i]);
        for (size_t i = 0; !parts && plots && i < plots->n_members; i++)
                if (strcmp(plots->members[i].key, report) == 0 || !value_get(plots, report))
                        check_single(run, report, plots->members[i].key, NULL);
}

/* --- the whole ------------------------------------------------------------------------------------ */

static void put_head(const ResultsRun *run, Json *json) {
        const ResultsFile *file = &run->matrix.file;

        json_put_uint(json, "time_ms", clock_realtime_ns() / NS_PER_MS);
        json_put_string(json, "version", PERFD_VERSION);
        json_put_string(json, "name", file->name);
        json_put_string(json, "directory", run->matrix.tree.root);
        json_put_string(json, "config", file->text.text ?: "");
        json_put_array_begin(json, "presets");
        for (size_t i = 0; i < file->n_presets; i++)
                json_string(json, file->presets[i]);
        json_array_end(json);
        test_matrix_write_units(&run->matrix, json);
        test_matrix_write_left_out(&run->matrix, json);
        json_put_array_begin(json, "steps");
        for (size_t i = 0; i < run->n_steps; i++) {
                json_object_begin(json);
                json_put_string(json, "name", run->steps[i].name);
                json_put_string(json, "text", run->steps[i].text.text ?: "");
                json_object_end(json);
        }
        json_array_end(json);
}

/* Writes what all pages have. 0 or -ENOMEM. */
static int write_data(const ResultsRun *run, const GlobalOptions *global, Json *json) {
        const ResultsFile *file = &run->matrix.file;
        int r;

        json_object_begin(json);
        put_head(run, json);
        value_put_json(file->model ? file->model->document : NULL, "model", json);
        value_put_json(value_get_given(file->root, "plots"), "plots", json);
        r = put_tests(run, json);
        value_put_json(run->check.is_judged ? value_get(&run->check.answer, "kpis") : NULL, "verdicts", json);
        json_key(json, "history");
        if (r == 0)
                r = results_store_write_histories(&run->check, file->model, global, json);
        json_object_end(json);
        return r < 0 ? r : buffer_error(json->out);
}

/* Writes a page. report NULL: the page that lists the reports. */
static int write_page(const ResultsRun *run, const ResultsReports *reports, const char *report, const char *common,
                      const char *directory) {
        scoped(buffer_deinit) Buffer data = {}, page = {}, name = {};
        Json json = { .out = &data };

        json_object_begin(&json);
        json_put_string(&json, "report", report);
        value_put_json(report ? value_get(value_get_given(run->matrix.file.root, "reports"), report) : NULL, "parts",
                          &json);
        json_put_array_begin(&json, "reports");
        for (size_t i = 0; i < reports->n; i++)
                json_string(&json, reports->names[i]);
        json_array_end(&json);
        json_key(&json, "run");
        json_raw(&json, common);
        json_object_end(&json);
        if (buffer_error(&data) < 0)
                return command_fail(-ENOMEM);
        report_html_put(results_page, &data, &page);
        buffer_printf(&name, "%s.html", report ?: "index");
        return results_report_write_file(directory, name.text, &page);
}

int results_page_write(const ResultsRun *run, const GlobalOptions *global, const ResultsReports *reports,
                       const char *directory, Buffer *said) {
        scoped(buffer_deinit) Buffer common = {};
        int r;

        r = write_data(run, global, &(Json){ .out = &common });
        if (r < 0)
                return command_fail(r);
        for (size_t i = 0; i < reports->n && r == EXIT_DONE; i++)
                r = write_page(run, reports, reports->names[i], common.text, directory);
        for (size_t i = 0; i < reports->n && r == EXIT_DONE; i++)
                check_singles(run, reports->names[i]);
        if (reports->n > 1 && r == EXIT_DONE)
                r = write_page(run, reports, NULL, common.text, directory);
        for (size_t i = 0; i < reports->n && r == EXIT_DONE; i++)
                buffer_printf(said, ", %s.html", reports->names[i]);
        return r;
}
