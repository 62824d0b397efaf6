/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_command.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/wire/id.h"
#include "util/clock.h"
#include "util/utf8.h"

void sweep_command_deinit(SweepCommand *command) {
        for (size_t i = 0; i < command->n; i++)
                free(command->words[i]);
        free(command->words);
        *command = (SweepCommand){};
}

/* The buffer is empty afterwards. */
static int add(SweepCommand *command, Buffer *word) {
        if (command->n + 1 >= command->n_allocated) {
                size_t n = command->n_allocated ? 2 * command->n_allocated : 64;
                char **more = reallocarray(command->words, n, sizeof(*more));

                if (!more)
                        return -ENOMEM;
                command->words = more;
                command->n_allocated = n;
        }

        command->words[command->n] = buffer_take(word);
        if (!command->words[command->n])
                return -ENOMEM;
        command->words[++command->n] = NULL;
        return 0;
}

static int add_text(SweepCommand *command, const char *text) {
        scoped(buffer_deinit) Buffer word = {};

        buffer_puts(&word, text);
        return add(command, &word);
}

static int add_pair(SweepCommand *command, const char *option, const char *value) {
        int r = value ? add_text(command, option) : 0;

        return r == 0 && value ? add_text(command, value) : r;
}

/* --- the job -------------------------------------------------------------------------------------- */

#define NAME_IN_ID_MAX 60U

/* "NAME-007-j01kb8z6m3qx7v2p4": another one with each start, since a job that has ended does not begin again. */
static int make_job(const SweepPlan *plan, size_t number, char ret[static JOB_ID_MAX]) {
        char unique[JOB_ID_TEXT_MAX], name[NAME_IN_ID_MAX + 1];
        int r = job_id_make(clock_realtime_ns() / NS_PER_MS, unique);

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

static int add_label(SweepCommand *command, const char *key, const char *text) {
        scoped(buffer_deinit) Buffer word = {};
        int r = add_text(command, "--label");

        buffer_printf(&word, "%s=%s", key, text);
        return r == 0 ? add(command, &word) : r;
}

/* The @ of a repetition is not a label's to have; what is called the same without it comes first. */
static bool is_taken(const SweepBlock *block, size_t i, const char *key) {
        if (strcmp(key, "sweep") == 0)
                return true;
        for (size_t k = 0; k < block->n; k++)
                if (k != i && strcmp(block->settings[k].key, key) == 0)
                        return true;
        return false;
}

static int add_labels(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n = 1;
        int r = add_label(command, "sweep", plan->name);

        for (size_t i = 0; i < block->n && r == 0; i++) {
                const char *key = block->settings[i].key, *text = sweep_plan_point_text(plan, point, i);

                key += *key == '@';
                if (n == JOB_LABELS_MAX || !fits_label(text) || is_taken(block, i, key)) {
                        command->left_out = block->settings[i].key;
                        continue;
                }
                r = add_label(command, key, text);
                n++;
        }
        return r;
}

static int add_run(SweepCommand *command, const SweepPlan *plan, const SweepPoint *point, size_t number,
                   const SweepRecorder *recorder) {
        int r = make_job(plan, number, command->job);

        if (r == 0)
                r = add_pair(command, recorder->program, "run");
        if (r == 0)
                r = add_pair(command, "--job", command->job);
        if (r == 0)
                r = add_pair(command, "--name", plan->name);
        if (r == 0)
                r = add_pair(command, "--socket", recorder->socket);
        if (r == 0)
                r = add_pair(command, "--spool", recorder->spool);
        if (r == 0)
                r = add_labels(command, plan, point);
        return r == 0 ? add_text(command, "--") : r;
}

/* --- the whole ------------------------------------------------------------------------------------ */

/* The templates are known to be right: the plan has tried them. */
static int add_filled(SweepCommand *command, const char *const *words, size_t n, Bindings *bindings) {
        PlaceholderError error;
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                scoped(buffer_deinit) Buffer word = {};

                r = placeholder_fill(words[i], bindings, &word, &error);
                assert(r == 0);
                r = add(command, &word);
        }
        return r;
}

static int add_script(SweepCommand *command, const char *script, Bindings *bindings) {
        scoped(buffer_deinit) Buffer filled = {};
        PlaceholderError error;
        int r;

        r = placeholder_fill_script(script, bindings, &filled, &error);
        assert(r <= 0);
        if (r == 0)
                r = add_pair(command, "sh", "-c");
        return r == 0 ? add(command, &filled) : r;
}

int sweep_command_make(SweepCommand *ret, const SweepPlan *plan, const SweepPoint *point, size_t number, const char *node,
                       const char *directory, const SweepRecorder *recorder) {
        scoped(sweep_command_deinit) SweepCommand command = {};
        Binding all[SWEEP_SETTINGS_MAX + 2];
        Bindings bindings;
        int r;

        sweep_plan_point_bind(plan, point, node, directory, all, &bindings);
        r = add_filled(&command, plan->launcher, plan->n_launcher, &bindings);
        if (r == 0 && recorder)
                r = add_run(&command, plan, point, number, recorder);
        if (r == 0 && plan->script)
                r = add_script(&command, plan->script, &bindings);
        else if (r == 0)
                r = add_filled(&command, plan->words, plan->n_words, &bindings);
        if (r < 0)
                return r;

        *ret = command;
        command = (SweepCommand){};
        return 0;
}

void sweep_command_put(const SweepCommand *command, Buffer *out) {
        for (size_t i = 0; i < command->n; i++) {
                if (i > 0)
                        buffer_putc(out, ' ');
                placeholder_put_quoted(out, command->words[i]);
        }
}
