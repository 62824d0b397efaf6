/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/job_info.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/wire/id.h"
#include "client/wire/user.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/utf8.h"

/* Quoted as for a shell where it must be. */
static void put_word(Buffer *out, const char *word) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

        if (*word && word[strspn(word, plain)] == '\0') {
                buffer_puts(out, word);
                return;
        }

        buffer_putc(out, '\'');
        for (; *word; word++) {
                if (*word == '\'')
                        buffer_puts(out, "'\\''");
                else
                        buffer_putc(out, *word);
        }
        buffer_putc(out, '\'');
}

static void copy_valid(const char *text, size_t n, Buffer *out) {
        for (size_t i = 0; i < n;) {
                size_t k = utf8_length(text + i, n - i);

                if (k > 0)
                        buffer_put(out, text + i, k);
                else
                        buffer_puts(out, UTF8_REPLACEMENT);
                i += k > 0 ? k : 1;
        }
}

void job_command_format(char *const *words, char ret[static JOB_COMMAND_MAX]) {
        scoped(buffer_deinit) Buffer typed = {}, valid = {};
        static const char dots[] = "…";

        for (size_t i = 0; words[i] && typed.n < JOB_COMMAND_MAX; i++) {
                if (i > 0)
                        buffer_putc(&typed, ' ');
                put_word(&typed, words[i]);
        }
        if (typed.n > 0)
                copy_valid(typed.text, typed.n, &valid);

        ret[0] = '\0';
        if (buffer_error(&valid) < 0 || valid.n == 0)
                return;
        if (valid.n < JOB_COMMAND_MAX) {
                memcpy(ret, valid.text, valid.n + 1);
                return;
        }

        utf8_copy(ret, JOB_COMMAND_MAX - (sizeof(dots) - 1), valid.text);
        strcat(ret, dots);
}

/* The options have been checked: everything fits. */
static int fill_labels(JobInfo *info, const Options *options) {
        if (options->n_labels == 0)
                return 0;

        info->labels = calloc(options->n_labels, sizeof(*info->labels));
        if (!info->labels)
                return -ENOMEM;

        for (size_t i = 0; i < options->n_labels; i++) {
                const char *equals = strchr(options->labels[i], '=');
                JobLabel *label = &info->labels[info->n_labels++];

                memcpy(label->key, options->labels[i], (size_t)(equals - options->labels[i]));
                utf8_copy(label->value, sizeof(label->value), equals + 1);
        }

        return 0;
}

static void fill_place(JobInfo *info, const Options *options, const Launch *launch) {
        info->rank = options_has(options, OPTION_RANK) ? options->rank : launch->rank;
        info->n_ranks = options->n_ranks > 0 ? (uint32_t)options->n_ranks : launch->n_ranks;
        info->node = options_has(options, OPTION_NODE) ? options->node : launch->node;
        info->n_nodes = options->n_nodes > 0 ? (uint32_t)options->n_nodes : launch->n_nodes;

        /* The options alone have been checked. */
        if (info->n_ranks > 0 && info->rank >= (int64_t)info->n_ranks) {
                info->rank = options_has(options, OPTION_RANK) ? info->rank : -1;
                info->n_ranks = (uint32_t)options->n_ranks;
        }
        if (info->n_nodes > 0 && info->node >= (int64_t)info->n_nodes) {
                info->node = options_has(options, OPTION_NODE) ? info->node : -1;
                info->n_nodes = (uint32_t)options->n_nodes;
        }
}

static int fill_id(JobInfo *info, const char *given) {
        char id[JOB_ID_TEXT_MAX];
        int r;

        if (given) {
                utf8_copy(info->id, sizeof(info->id), given);
                return 0;
        }

        r = job_id_make(clock_realtime_ns() / NS_PER_MS, id);
        if (r == 0)
                memcpy(info->id, id, sizeof(id));
        return r;
}

int job_info_fill(JobInfo *info, const Options *options, const Launch *launch, char *const *command) {
        int r;

        *info = (JobInfo){ .pid = options->pid };
        r = fill_id(info, options->job ? options->job : launch->job[0] ? launch->job : NULL);
        if (r < 0)
                return r;

        fill_place(info, options, launch);
        utf8_copy(info->name, sizeof(info->name), options->name ? options->name : "");
        if (command)
                job_command_format(command, info->command);
        info->uid = options_has(options, OPTION_UID) ? options->uid : geteuid();
        user_name_find(info->uid, info->user, sizeof(info->user));
        return fill_labels(info, options);
}
