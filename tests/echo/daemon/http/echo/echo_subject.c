/* SPDX-License-Identifier: Apache-2.0 */
#include "http/echo/echo_subject.h"

#include "json/json.h"
#include "store/echo/store_echo.h"

static void answer_echoes(const Target *target, const Sources *sources, Response *response) {
        const char *text;
        Json json = { .out = response->body };
        int r;

        (void)target;
        json_object_begin(&json);
        json_put_array_begin(&json, "echoes");
        r = store_echo_list(sources->reader);
        while (r == 0 && (r = store_echo_next(sources->reader, &text)) == 0)
                json_string(&json, text);
        json_array_end(&json);
        json_object_end(&json);
        if (r != READER_END)
                (void)exchange_store_error(response, r); /* replaces the body */
}

/* Collectors do not read the store, which may take long. */
static void collect_echoes(Exposition *exposition, const Snapshot *snapshot) {
        (void)snapshot;
        exposition_single(exposition, "perfd_echo_tables", FAMILY_GAUGE, "Tables of texts", 1);
}

const Subject echo_subject = {
        .routes = ROUTES({ "/api/v1/echoes", "", false, true, answer_echoes }),
        .collectors = COLLECTORS({ "echo", false, collect_echoes, NULL }),
};
