/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/api/api_query.h"
#include "client/api/model_file.h"
#include "client/api/model_schema.h"
#include "client/cli/grid.h"
#include "client/cli/message.h"
#include "client/commands/perfctl.h"
#include "client/deliver/deliver.h"

/* --- indicator register, indicator unregister ----------------------------------------------------- */

/* "results.rate.type" of "register.results.rate.type" */
static const char *place_of(const Complaint *complaint) {
        const char *dot = strchr(complaint->path, '.');

        return dot ? dot + 1 : complaint->path;
}

/* change: "registered", say. */
static int say_refused(const Courier *courier, const Delivery *delivery, const char *name, const char *change, int outcome) {
        const Complaint *complaint = &delivery->reply.complaint;
        char reason[DELIVERY_TEXT_MAX];

        if (outcome < 0) {
                say("%s", strerrordesc_np(-outcome));
                return EXIT_FAILED;
        }
        if (outcome != DELIVERY_REFUSED) {
                delivery_explain(delivery, courier, reason);
                say("%s", reason);
                return delivery->error < 0 ? EXIT_UNREACHABLE : EXIT_FAILED;
        }

        if (delivery->reply.status == STATUS_UNSUPPORTED)
                say("The model of %s is not %s: this perfd cannot do that, a newer one can", name, change);
        else
                say("The model of %s is not %s: %s%s%s", name, change, place_of(complaint), complaint->path[0] ? ": " : "",
                    complaint->text[0] ? complaint->text : status_name(delivery->reply.status));
        return EXIT_FAILED;
}

/* "MemBw of plain C: registered" */
static void put_change(Screen *screen, const char *name, const char *component, const char *change) {
        (void)screen_text(screen, name);
        if (component) {
                buffer_puts(screen->out, " of ");
                (void)screen_text(screen, component);
        }
        buffer_printf(screen->out, ": %s\n", change);
}

static int register_all(const Options *options, const ModelSet *set) {
        scoped(courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r = 0;

        courier_init(&courier, options->socket, options->timeout_ns);
        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        for (size_t i = 0; i < set->n && r == 0; i++) {
                const IndicatorModel *model = &set->models[i];

                r = deliver_model(&courier, model->document, &delivery);
                if (r != 0) {
                        r = say_refused(&courier, &delivery, model->name, "registered", r);
                        break;
                }
                put_change(&screen, model->name, model->component,
                           delivery.reply.status == STATUS_DUPLICATE ? "registered already" : "registered");
                if (delivery.reply.complaint.text[0] && delivery.reply.status == STATUS_OK)
                        say("%s: %s", model->name, delivery.reply.complaint.text);
        }

        return print_out(&out) == EXIT_DONE ? r : EXIT_FAILED;
}

static int read_files(const Options *options, ModelSet *set) {
        int r = EXIT_DONE;

        for (int i = 0; i < options->n_arguments; i++) {
                int one = model_set_add_file(set, options->arguments[i]);

                r = one != EXIT_DONE ? one : r;
        }

        return r;
}

int cmd_indicator_register(const Options *options) {
        scoped(model_set_deinit) ModelSet set = {};
        int r;

        r = read_files(options, &set);
        if (r != EXIT_DONE) {
                say("Nothing was registered");
                return r;
        }

        return register_all(options, &set);
}

int cmd_indicator_unregister(const Options *options) {
        const char *name = options->arguments[0], *component = options->n_arguments > 1 ? options->arguments[1] : NULL;
        scoped(courier_deinit) Courier courier;
        scoped(buffer_deinit) Buffer out = {};
        Delivery delivery;
        Screen screen;
        int r;

        courier_init(&courier, options->socket, options->timeout_ns);
        r = deliver_model_gone(&courier, name, component ?: "", &delivery);
        if (r != 0)
                return say_refused(&courier, &delivery, name, "forgotten", r);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        put_change(&screen, name, component, "no longer registered");
        return print_out(&out);
}

/* --- indicator models ----------------------------------------------------------------------------- */

static const char *component_of(const Value *model) {
        const char *component = value_get_string(model, "component");

        return component ? component : "any";
}

static size_t count_members(const Value *declaration, const char *key) {
        const Value *list = value_get(declaration, key);

        return list && list->type == VALUE_OBJECT ? list->n_members : 0;
}

/* Stored results that the model is of: of its component, or of all. */
static uint64_t count_results(const Value *indicators, const Value *model) {
        const char *component = value_get_string(model, "component");
        uint64_t n = 0;

        for (size_t i = 0; indicators && indicators->type == VALUE_LIST && i < indicators->n_items; i++) {
                const Value *one = &indicators->items[i];

                if (strcmp(text_get(one, "name"), text_get(model, "name")) == 0 &&
                    (!component || strcmp(text_get(one, "component"), component) == 0))
                        n += time_get(one, "results");
        }

        return n;
}

static void put_origin(Grid *grid, const Value *model) {
        const char *file = value_get_string(model, "file");
        char text[48];

        (void)snprintf(text, sizeof(text), "registered by user %ju", (uintmax_t)time_get(model, "uid"));
        grid_text(grid, file ? file : text);
}

static void fill_models(Grid *grid, const Value *models, const Value *indicators) {
        static const char *const counts[] = { "PARAMETERS", "RESULTS", "STORED" };

        grid_init(grid, 6, 1);
        grid_text(grid, "INDICATOR");
        grid_text(grid, "COMPONENT");
        for (size_t i = 0; i < N_ELEMENTS(counts); i++)
                grid_right(grid, counts[i]);
        grid_text(grid, "DECLARED IN");

        for (size_t i = 0; i < models->n_items; i++) {
                const Value *model = &models->items[i], *declaration = value_get(model, "declaration");

                grid_text(grid, text_get(model, "name"));
                grid_text(grid, component_of(model));
                grid_count(grid, count_members(declaration, "parameters"));
                grid_count(grid, count_members(declaration, "results"));
                grid_count(grid, count_results(indicators, model));
                put_origin(grid, model);
        }
}

/* Two questions: the models stay while how much there is of each is asked. */
static int ask_counts(const Options *options, ApiQuery *ret) {
        int r;

        r = api_query_init(ret, options);
        return r == EXIT_DONE ? api_query_ask(ret, "/api/v1/indicators") : r;
}

int cmd_indicator_models(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {}, counts = {};
        scoped(grid_deinit) Grid grid = {};
        scoped(buffer_deinit) Buffer out = {};
        const Value *models;
        Screen screen;
        int r;

        r = api_query_open(&question, options, "/api/v1/models");
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return api_query_print_json(&question);

        models = value_get(question.answer, "models");
        if (!models || models->type != VALUE_LIST || models->n_items == 0) {
                say("perfd knows no models of indicators: perfd-indicators(5) says how one is declared");
                return EXIT_DONE;
        }

        r = ask_counts(options, &counts);
        if (r != EXIT_DONE)
                return r;
        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        fill_models(&grid, models, value_get(counts.answer, "indicators"));
        if (grid_write(&grid, &screen, isatty(STDOUT_FILENO) == 1) < 0)
                return EXIT_FAILED;
        return print_out(&out);
}

/* --- indicator schema ----------------------------------------------------------------------------- */

typedef enum Format {
        FORMAT_JSON,
        FORMAT_RDF,
        FORMAT_SQL,
        FORMAT_UNKNOWN,
} Format;

static Format find_format(const Options *options) {
        static const char *const words[] = { [FORMAT_JSON] = "json", [FORMAT_RDF] = "rdf", [FORMAT_SQL] = "sql" };

        if (!options->format)
                return FORMAT_JSON;
        for (Format format = 0; format < FORMAT_UNKNOWN; format++)
                if (strcmp(words[format], options->format) == 0)
                        return format;

        say("--format is '%.80s': expected json, rdf or sql", options->format);
        return FORMAT_UNKNOWN;
}

static void write_schema(Format format, const ModelSet *set, Buffer *out) {
        switch (format) {
        case FORMAT_JSON:
                schema_write_json(set->models, set->n, out);
                return;
        case FORMAT_RDF:
                schema_write_rdf(set->models, set->n, out);
                return;
        case FORMAT_SQL:
                schema_write_sql(set->models, set->n, out);
                return;
        case FORMAT_UNKNOWN:
                return;
        }
}

static int ask_models(const Options *options, ApiQuery *question, ModelSet *set) {
        int r;

        r = api_query_open(question, options, "/api/v1/models");
        return r == EXIT_DONE ? model_set_add_answer(set, question) : r;
}

int cmd_indicator_schema(const Options *options) {
        scoped(api_query_deinit) ApiQuery question = {};
        scoped(model_set_deinit) ModelSet set = {};
        scoped(buffer_deinit) Buffer out = {};
        Format format = find_format(options);
        int r;

        if (format == FORMAT_UNKNOWN)
                return EXIT_USAGE;
        r = options->n_arguments > 0 ? read_files(options, &set) : ask_models(options, &question, &set);
        if (r != EXIT_DONE)
                return r;

        write_schema(format, &set, &out);
        return print_out(&out);
}
