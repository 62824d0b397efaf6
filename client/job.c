#include "client/job.h"

#include <errno.h>
#include <string.h>

#include "client/id.h"
#include "client/user.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/utf8.h"

int64_t job_rank_find(void) {
        static const char *const names[] = { "SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK" };

        for (size_t i = 0; i < N_ELEMENTS(names); i++) {
                const char *text = getenv(names[i]);
                uint64_t rank;

                if (text && parse_u64(text, &rank) == 0 && rank <= INT64_MAX)
                        return (int64_t)rank;
        }

        return -1;
}

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

int job_info_fill(JobInfo *info, const Options *options, char *const *command) {
        char id[JOB_ID_TEXT_MAX];
        int r;

        *info = (JobInfo){ .rank = options_has(options, OPTION_RANK) ? options->rank : job_rank_find(), .node = -1, .pid = options->pid };
        if (!options->job) {
                r = job_id_make(clock_realtime_ns() / NS_PER_MS, id);
                if (r < 0)
                        return r;
        }

        utf8_copy(info->id, sizeof(info->id), options->job ? options->job : id);
        utf8_copy(info->name, sizeof(info->name), options->name ? options->name : "");
        if (command)
                job_command_format(command, info->command);
        user_name_find(info->user, sizeof(info->user));
        return fill_labels(info, options);
}
