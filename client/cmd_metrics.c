#include <stdio.h>
#include <string.h>

#include "client/perfctl.h"
#include "client/question.h"
#include "client/say.h"

/* Plain columns, as they are fed to grep and awk: name, value, unit, quality. */
static void write_metrics(Screen *screen, const Value *answer) {
        const Value *metrics = value_get(answer, "metrics"), *absent = value_get(answer, "absent");

        for (size_t i = 0; metrics && metrics->type == VALUE_LIST && i < metrics->n_items; i++) {
                const Value *metric = &metrics->items[i];
                const char *quality = text_get(metric, "quality");
                size_t n = screen_text(screen, text_get(metric, "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16.6g  %-4s  ", number_get(metric, "value"), text_get(metric, "unit"));
                screen_styled(screen, strcmp(quality, "exact") == 0 ? STYLE_GOOD : STYLE_DIM, quality);
                buffer_putc(screen->out, '\n');
        }

        for (size_t i = 0; absent && absent->type == VALUE_LIST && i < absent->n_items; i++) {
                size_t n = screen_text(screen, text_get(&absent->items[i], "key"));

                screen_pad(screen, n, 34);
                buffer_printf(screen->out, " %16s  %-4s  ", "-", "");
                screen_styled(screen, STYLE_DIM, text_get(&absent->items[i], "reason"));
                buffer_putc(screen->out, '\n');
        }
}

int cmd_metrics(const Options *options) {
        scoped(question_deinit) Question question = {};
        scoped(buffer_deinit) Buffer out = {};
        char path[JOB_ID_MAX + 32];
        Screen screen;
        int r;

        if (options->job)
                snprintf(path, sizeof(path), "/api/v1/jobs/%s", options->job);
        else
                snprintf(path, sizeof(path), "/api/v1/node");

        r = question_init(&question, options);
        if (r == EXIT_DONE)
                r = question_ask(&question, path);
        if (r != EXIT_DONE)
                return r;
        if (options_has(options, OPTION_JSON))
                return question_print_json(&question);

        screen_init(&screen, &out, STDOUT_FILENO, options_has(options, OPTION_NO_COLOR));
        write_metrics(&screen, question.answer);
        return print_out(&out);
}
