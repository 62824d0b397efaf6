/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/indicator_path.h"

#include <inttypes.h>
#include <string.h>

#include "document/condition.h"
#include "util/clock.h"

void indicator_path_begin(Buffer *path, const char *name, const char *what) {
        buffer_puts(path, "/api/v1/indicators/");
        buffer_put_encoded(path, name);
        buffer_printf(path, "/%s", what);
}

void indicator_path_batch(Buffer *path, const char *id) {
        buffer_puts(path, "/api/v1/batches/");
        buffer_put_encoded(path, id);
}

void indicator_path_put(Buffer *path, const char *name, const char *value) {
        if (!value)
                return;

        buffer_printf(path, "%c%s=", path->text && strchr(path->text, '?') ? '&' : '?', name);
        buffer_put_encoded(path, value);
}

void indicator_path_put_list(Buffer *path, const char *name, const OptionTexts *values) {
        scoped(buffer_deinit) Buffer list = {};

        for (size_t i = 0; i < values->n; i++)
                buffer_printf(&list, "%s%s", i > 0 ? "," : "", values->items[i]);
        path->failed |= buffer_error(&list) < 0;
        indicator_path_put(path, name, list.text);
}

void indicator_path_put_age(Buffer *path, const char *name, uint64_t age_ns) {
        uint64_t now_ns = clock_realtime_ns();
        char time_ms[24];

        snprintf(time_ms, sizeof(time_ms), "%" PRIu64, (now_ns > age_ns ? now_ns - age_ns : 0) / NS_PER_MS);
        indicator_path_put(path, name, time_ms);
}

void indicator_path_select(Buffer *path, const SelectionOptions *selection) {
        for (size_t i = 0; i < selection->where.n; i++) {
                const char *text = selection->where.items[i];
                scoped(buffer_deinit) Buffer condition = {};

                for (size_t at = 0; condition_next(text, &at, &condition); buffer_clear(&condition))
                        indicator_path_put(path, "where", condition.text);
        }
        if (selection->since_ns.is_given)
                indicator_path_put_age(path, "since_ms", selection->since_ns.value);
        if (selection->until_ns.is_given)
                indicator_path_put_age(path, "until_ms", selection->until_ns.value);
}
