/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/model_set.h"

#include <errno.h>

#include "client/api/answer.h"
#include "client/cli/command.h"
#include "client/cli/document.h"
#include "client/cli/input.h"
#include "client/cli/message.h"
#include "text/yaml.h"
#include "util/array.h"

void model_set_deinit(ModelSet *set) {
        for (size_t i = 0; i < set->n; i++)
                arena_deinit(&set->arenas[i]);
        free(set->arenas);
        free(set->models);
        *set = (ModelSet){};
}

static int out_of_memory(void) {
        message_print("out of memory");
        return EXIT_FAILED;
}

/* Allocates the next model and its arena, n_bytes larger than a model needs. Returns 0 or -ENOMEM. */
static int make_room(ModelSet *set, size_t n_bytes) {
        if (ARRAY_EXTEND(set->models, set->n) < 0 || ARRAY_EXTEND(set->arenas, set->n) < 0)
                return -ENOMEM;
        return arena_init(&set->arenas[set->n], n_bytes + MODEL_ARENA_BYTES);
}

static int read_model(ModelSet *set, const char *file, const Buffer *text) {
        const Value *document;
        Complaint complaint;
        unsigned line, column;
        int r;

        r = document_parse(text, input_name(file), &set->arenas[set->n], &document);
        if (r == DOCUMENT_WRONG)
                return EXIT_FAILED;
        if (r == 0)
                r = indicator_model_from_value(document, &set->arenas[set->n], &set->models[set->n], &complaint);
        if (r == MODEL_INVALID) {
                yaml_locate(text->text ?: "", text->n, complaint.path, &line, &column);
                message_print("%s:%u:%u: %s%s%s", input_name(file), line, column, complaint.path, complaint.path[0] ? ": " : "",
                              complaint.text);
                return EXIT_FAILED;
        }

        return r == 0 ? EXIT_DONE : out_of_memory();
}

static int add_file(ModelSet *set, const char *file) {
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read(file, &text);
        if (r != EXIT_DONE)
                return r;
        if (make_room(set, document_arena_size(text.n)) < 0)
                return out_of_memory();

        r = read_model(set, file, &text);
        if (r == EXIT_DONE)
                set->n++;
        else
                arena_deinit(&set->arenas[set->n]);
        return r;
}

int model_set_add_files(ModelSet *set, char *const *files, int n) {
        int r = EXIT_DONE;

        for (int i = 0; i < n; i++) {
                int one = add_file(set, files[i]);

                r = one != EXIT_DONE ? one : r;
        }

        return r;
}

static int add_declaration(ModelSet *set, const Value *declaration) {
        Complaint complaint;
        int r;

        if (make_room(set, 0) < 0)
                return out_of_memory();

        r = indicator_model_from_value(declaration, &set->arenas[set->n], &set->models[set->n], &complaint);
        if (r == 0) {
                set->n++;
                return EXIT_DONE;
        }

        arena_deinit(&set->arenas[set->n]);
        if (r < 0)
                return out_of_memory();
        message_print("skipping a model of perfd that this version of perfctl does not support: %s: %s", complaint.path,
                      complaint.text);
        return EXIT_DONE;
}

int model_set_add_answer(ModelSet *set, const ApiQuery *query) {
        const Value *models = value_get(query->answer, "models");
        int r = EXIT_DONE;

        for (size_t i = 0; models && models->type == VALUE_LIST && i < models->n_items && r == EXIT_DONE; i++) {
                const Value *declaration = value_get(&models->items[i], "declaration");

                if (declaration && answer_model_applies(&models->items[i]))
                        r = add_declaration(set, declaration);
        }

        return r;
}
