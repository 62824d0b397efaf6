/* SPDX-License-Identifier: Apache-2.0 */
#include "http/assets.h"
#include "http/metrics.h"
#include "http/self/self_subject.h"

static void answer_healthy(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        buffer_puts(exchange->body, "ok\n");
}

static void answer_ready(Exchange *exchange) {
        exchange->type = CONTENT_TEXT;
        exchange->status = exchange->is_ready ? 200 : 503;
        buffer_puts(exchange->body, exchange->is_ready ? "ready\n" : "not ready\n");
}

static void answer_openapi(Exchange *exchange) {
        buffer_puts(exchange->body, asset_openapi_json);
}

static const Route routes[] = {
        { "/metrics",             "collect[]", true,  false, metrics_answer },
        { "/-/healthy",           "",          false, false, answer_healthy },
        { "/-/ready",             "",          false, false, answer_ready },
        { "/api/v1/openapi.json", "",          false, false, answer_openapi },
        { "/api/v1/quota",        "uid",       false, false, self_subject_quota },
        {},
};

static const Collector collectors[] = {
        { "self", false, self_subject_metrics },
        { "self", false, self_subject_metrics_shares },
        {},
};

const Subject self_subject = { routes, collectors };
