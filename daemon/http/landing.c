/*
 * The landing page
 *
 * web/index.html with {{names}} in the place of what this node is at the moment. Without a snapshot they read "–".
 */

#include <inttypes.h>
#include <string.h>

#include "http/answers.h"
#include "http/assets.h"
#include "util/clock.h"

#define GIB 1073741824.0
#define NBSP "\xc2\xa0"

typedef struct Word {
        const char *name;
        char text[96];
} Word;

typedef enum WordId {
        WORD_HOSTNAME,
        WORD_VERSION,
        WORD_KERNEL,
        WORD_CPUS,
        WORD_CPU,
        WORD_MEMORY,
        WORD_ROOT,
        WORD_JOBS,
        WORD_STORE,
        WORD_TIME,
        N_WORDS,
} WordId;

static void words_init(Word words[static N_WORDS]) {
        static const char *const names[N_WORDS] = {
                "hostname", "version", "kernel", "cpus", "cpu", "memory", "root", "jobs", "store", "time",
        };

        for (WordId id = 0; id < N_WORDS; id++)
                words[id] = (Word){ .name = names[id], .text = "–" };
        (void)snprintf(words[WORD_VERSION].text, sizeof(words->text), "%s", PERFD_VERSION);
        (void)snprintf(words[WORD_HOSTNAME].text, sizeof(words->text), "this node");
}

__attribute__((format(printf, 2, 3))) static void word_set(Word *word, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(word->text, sizeof(word->text), format, args);
        va_end(args);
}

static void words_from_sample(Word words[static N_WORDS], const Snapshot *snapshot) {
        const Sample *sample = &snapshot->sample;
        const SampleFilesystem *root = sample_root_filesystem(sample);
        char time[CLOCK_TEXT_MAX];

        if (snapshot->observation.end_ns > 0 && snapshot->observation.has_cpu)
                word_set(&words[WORD_CPU], "%.1f" NBSP "%%", 100 * snapshot->observation.cpu_mean);
        if (sample_has(sample, SOURCE_STAT))
                word_set(&words[WORD_CPUS], "%" PRIu32, sample->n_online);
        if (sample_has(sample, SOURCE_MEMINFO) && sample->memory.total_bytes > 0)
                word_set(&words[WORD_MEMORY], "%.1f" NBSP "%% of" NBSP "%.1f" NBSP "GiB", 100 * sample_memory_ratio(sample),
                         (double)sample->memory.total_bytes / GIB);
        if (sample_has(sample, SOURCE_FILESYSTEMS) && root)
                word_set(&words[WORD_ROOT], "%.1f" NBSP "%% of" NBSP "%.1f" NBSP "GiB", 100 * filesystem_used_ratio(root),
                         (double)root->size_bytes / GIB);
        if (snapshot->realtime_ns > 0) {
                clock_format_utc(snapshot->realtime_ns, time);
                word_set(&words[WORD_TIME], "%s", time);
        }
}

static void words_from_snapshot(Word words[static N_WORDS], const Snapshot *snapshot) {
        word_set(&words[WORD_HOSTNAME], "%s", snapshot->hostname);
        word_set(&words[WORD_KERNEL], "Linux %s, %s", snapshot->kernel, snapshot->machine);
        word_set(&words[WORD_JOBS], "%zu", snapshot->n_jobs_running);
        word_set(&words[WORD_STORE], "%s, %.1f" NBSP "MiB", snapshot->self.store_writable ? "writable" : "not writable",
                 (double)snapshot->self.store_bytes / 1048576.0);
        words_from_sample(words, snapshot);
}

static void put_html(Buffer *out, const char *text) {
        for (; *text; text++)
                switch (*text) {
                case '<':
                        buffer_puts(out, "&lt;");
                        break;
                case '&':
                        buffer_puts(out, "&amp;");
                        break;
                default:
                        buffer_putc(out, *text);
                }
}

/* Puts the word named at `text`, "hostname}}…"; what comes after it. */
static const char *put_word(Buffer *out, const Word words[static N_WORDS], const char *text) {
        const char *end = strstr(text, "}}");

        for (WordId id = 0; end && id < N_WORDS; id++)
                if (strlen(words[id].name) == (size_t)(end - text) && memcmp(words[id].name, text, (size_t)(end - text)) == 0)
                        put_html(out, words[id].text);

        return end ? end + 2 : strchr(text, '\0');
}

void answer_landing(Exchange *exchange) {
        const char *p = asset_index_html;
        Word words[N_WORDS];

        words_init(words);
        if (exchange->snapshot)
                words_from_snapshot(words, exchange->snapshot);

        exchange->type = CONTENT_HTML;
        for (;;) {
                const char *name = strstr(p, "{{");

                if (!name)
                        break;
                buffer_put(exchange->body, p, (size_t)(name - p));
                p = put_word(exchange->body, words, name + 2);
        }
        buffer_puts(exchange->body, p);
}
