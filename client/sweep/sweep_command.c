/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_command.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/sweep/sweep_tree.h"
#include "client/wire/id.h"
#include "text/text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/utf8.h"

void sweep_command_deinit(SweepCommand *command) {
        for (size_t i = 0; i < command->n; i++)
                free(command->words[i]);
        free(command->words);
        *command = (SweepCommand){};
}

/* Takes the word; NULL: no memory for one. A failure is reported at the end. */
static void add(SweepCommand *command, char *word) {
        if (!word || ARRAY_RESERVE(command->words, command->n_allocated, command->n + 2) < 0) {
                free(word);
                command->failed = true;
                return;
        }

        command->words[command->n++] = word;
        command->words[command->n] = NULL;
}

static void add_pair(SweepCommand *command, const char *option, const char *value) {
        if (!value)
                return;
        add(command, strdup(option));
        add(command, strdup(value));
}

/* --- the job -------------------------------------------------------------------------------------- */

#define NAME_IN_ID_MAX 60U

/* Makes an id such as "NAME-007-j01kb8z6m3qx7v2p4". Each start has another id, since a job that has ended does not start again. */
static int make_job(const SweepPlan *plan, size_t number, char ret[static JOB_ID_MAX]) {
        char unique[JOB_ID_TEXT_MAX], name[NAME_IN_ID_MAX + 1];
        int r = id_make_job(clock_realtime_ns() / NS_PER_MS, unique);

        if (r < 0)
                return r;
        utf8_copy(name, sizeof(name), plan->name);
        for (char *p = name; *p; p++)
                if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", *p))
                        *p = '_';
        (void)snprintf(ret, JOB_ID_MAX, "%s-%03zu-%s", name, number, unique);
        return 0;
}

static bool fits_label(const char *text) {
        return strlen(text) < JOB_TEXT_MAX && utf8_is_line(text);
}

static void add_label(SweepCommand *command, const char *key, const char *text) {
        Buffer word = {};

        buffer_printf(&word, "%s=%s", key, text);
        add(command, strdup("--label"));
        add(command, buffer_take(&word));
}

/* Returns true if another label has the key. A label has no @; a setting whose name is the same without its @ comes first. */
static bool is_taken(const SweepBlock *block, size_t i, const char *key) {
        if (strcmp(key, "sweep") == 0)
                return true;
        for (size_t k = 0; k < block->n; k++)
                if (k != i && strcmp(block->settings[k].key, key) == 0)
                        return true;
        return false;
}

static void add_labels(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n = 1;

        add_label(command, "sweep", plan->name);
        for (size_t i = 0; i < block->n; i++) {
                const char *key = block->settings[i].key, *text = sweep_plan_text(plan, point, i);

                key += *key == '@';
                if (n == JOB_LABELS_MAX || !fits_label(text) || is_taken(block, i, key)) {
                        command->left_out = block->settings[i].key;
                        continue;
                }
                add_label(command, key, text);
                n++;
        }
}

static void add_run(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point, const SweepRecorder *recorder) {
        add_pair(command, recorder->program, "run");
        add_pair(command, "--job", command->job);
        add_pair(command, "--name", plan->name);
        add_pair(command, "--socket", recorder->socket);
        add_pair(command, "--spool", recorder->spool);
        add_pair(command, "--component", recorder->component);
        add_pair(command, "--component-version", recorder->component_version);
        add_labels(command, plan, point);
}

/* --- the command ---------------------------------------------------------------------------------- */

/* The templates are valid, since they were filled when the plan was read. */
static void add_filled(SweepCommand *command, const char *const *words, size_t n, Bindings *bindings) {
        PlaceholderError error;

        for (size_t i = 0; i < n; i++) {
                Buffer word = {};
                int r = placeholder_fill(words[i], bindings, &word, &error);

                assert(r == 0);
                add(command, buffer_take(&word));
        }
}

/* The directory of a point has its specification. */
static void add_specification(SweepCommand *command, const SweepPlan *plan, const char *directory) {
        Buffer path = {};

        buffer_printf(&path, "%s/" SWEEP_FILE_SPECIFICATION, directory);
        add(command, strdup("--spec"));
        add(command, buffer_take(&path));
        add_pair(command, "--script", plan->specification_script);
}

static void add_script(SweepCommand *command, const char *script, Bindings *bindings) {
        PlaceholderError error;
        Buffer filled = {};
        int r = placeholder_fill_script(script, bindings, &filled, &error);

        assert(r <= 0);
        command->failed |= r < 0;
        add_pair(command, "sh", "-c");
        add(command, buffer_take(&filled));
}

int sweep_command_make(SweepCommand *ret, const SweepPlan *plan, const SweepPoint *point, size_t number, const char *directory,
                       const SweepRecorder *recorder) {
        scoped(sweep_command_deinit) SweepCommand command = {};
        Binding all[SWEEP_SETTINGS_MAX + 1];
        Bindings bindings;
        int r = recorder ? make_job(plan, number, command.job) : 0;

        if (r < 0)
                return r;
        sweep_plan_bind(plan, point, directory, all, &bindings);
        if (recorder)
                add_run(&command, plan, point, recorder);
        else if (plan->specification)
                add_pair(&command, "perfctl", "run");
        if (plan->specification)
                add_specification(&command, plan, directory);
        else if (recorder)
                add(&command, strdup("--"));
        if (plan->script)
                add_script(&command, plan->script, &bindings);
        else
                add_filled(&command, plan->words, plan->n_words, &bindings);
        if (command.failed)
                return -ENOMEM;

        *ret = command;
        command = (SweepCommand){};
        return 0;
}

void sweep_command_put(const SweepCommand *command, Buffer *out) {
        for (size_t i = 0; i < command->n; i++) {
                if (i > 0)
                        buffer_putc(out, ' ');
                text_put_word(out, command->words[i]);
        }
}
