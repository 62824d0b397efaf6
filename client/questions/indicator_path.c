#include "client/questions/indicator_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"

static void put_encoded(Buffer *path, const char *text) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~,:";

        for (; *text; text++)
                if (strchr(plain, *text))
                        buffer_putc(path, *text);
                else
                        buffer_printf(path, "%%%02X", (unsigned char)*text);
}

void indicator_path_begin(Buffer *path, const char *name, const char *what) {
        buffer_puts(path, "/api/v1/indicators/");
        put_encoded(path, name);
        buffer_printf(path, "/%s", what);
}

void indicator_path_batch(Buffer *path, const char *id) {
        buffer_puts(path, "/api/v1/batches/");
        put_encoded(path, id);
}

void indicator_path_put(Buffer *path, const char *name, const char *value) {
        if (!value)
                return;

        buffer_printf(path, "%c%s=", path->text && strchr(path->text, '?') ? '&' : '?', name);
        put_encoded(path, value);
}

void indicator_path_select(Buffer *path, const Options *options) {
        char since[24];
        uint64_t now_ns = clock_realtime_ns();

        for (size_t i = 0; i < options->n_where; i++)
                indicator_path_put(path, "where", options->where[i]);
        if (!options_has(options, OPTION_SINCE))
                return;

        snprintf(since, sizeof(since), "%" PRIu64, (now_ns > options->since_ns ? now_ns - options->since_ns : 0) / NS_PER_MS);
        indicator_path_put(path, "since_ms", since);
}
