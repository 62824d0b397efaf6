/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sweep/sweep_layout.h"

#include <string.h>

#include "client/sweep/sweep_text.h"
#include "util/utf8.h"

void sweep_layout_put_settings(Buffer *out, const SweepPlan *plan, const SweepPoint *point) {
        const SweepBlock *block = &plan->blocks[point->block];

        for (size_t i = 0; i < block->n; i++)
                sweep_text_put_yaml(out, block->settings[i].key, &block->settings[i].values[sweep_plan_point_choice(plan, point, i)]);
}

int sweep_layout_identify(const SweepPlan *plan, const SweepPoint *point, Buffer *out) {
        const SweepBlock *block = &plan->blocks[point->block];
        const char *keys[SWEEP_SETTINGS_MAX], *texts[SWEEP_SETTINGS_MAX];

        for (size_t i = 0; i < block->n; i++) {
                keys[i] = block->settings[i].key;
                texts[i] = sweep_plan_point_text(plan, point, i);
        }
        return sweep_text_identify(keys, texts, block->n, out);
}

/* Each character that a file name or a shell might stumble over becomes an underscore. */
static void put_safe(Buffer *out, const char *text, size_t n_max) {
        size_t n = strlen(text);

        while (n > 0 && out->n < n_max) {
                size_t k = utf8_length(text, n);
                bool is_safe = k == 1 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+,@%:-", *text);

                if (k == 0)
                        k = 1;
                if (is_safe && *text == '.' && out->n > 0 && out->text && out->text[out->n - 1] == '.')
                        is_safe = false;
                buffer_putc(out, is_safe ? *text : '_');
                text += k;
                n -= k;
        }
}

void sweep_layout_put_directory(Buffer *out, const SweepPlan *plan, const SweepPoint *point, size_t number) {
        const SweepBlock *block = &plan->blocks[point->block];
        size_t n_max = out->n + SWEEP_DIRECTORY_MAX;

        buffer_printf(out, "%03zu", number);
        for (size_t i = 0; i < block->n && out->n + 2 < n_max; i++) {
                buffer_puts(out, "__");
                put_safe(out, block->settings[i].key, n_max);
                if (out->n < n_max)
                        buffer_putc(out, '=');
                put_safe(out, sweep_plan_point_text(plan, point, i), n_max);
        }
}
