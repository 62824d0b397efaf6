/* SPDX-License-Identifier: Apache-2.0 */
#include "http/assets.h"
#include "http/self/self_subject.h"

void self_subject_healthy(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        buffer_puts(exchange->body, "ok\n");
}

void self_subject_ready(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        exchange->status = exchange->is_ready ? 200 : 503;
        buffer_puts(exchange->body, exchange->is_ready ? "ready\n" : "not ready\n");
}

void self_subject_openapi(Exchange *exchange) {
        buffer_puts(exchange->body, asset_openapi_json);
}
