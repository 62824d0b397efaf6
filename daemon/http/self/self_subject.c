/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"
#include "http/self/openapi.h"
#include "http/self/self_subject.h"

/* perfd runs; the answer names the parts that do not work. */
static void answer_healthy(const Target *target, const Sources *sources, Response *response) {
        const Snapshot *snapshot = sources->snapshot;

        (void)target;
        response->type = CONTENT_TEXT;
        buffer_puts(response->body, "ok\n");
        if (snapshot && snapshot->http_port.error[0])
                buffer_printf(response->body, "http: %s\n", snapshot->http_port.error);
        if (snapshot && snapshot->self.config_error[0])
                buffer_printf(response->body, "configuration: not in force: %s\n", snapshot->self.config_error);
        else if (snapshot && snapshot->self.config_edited[0])
                buffer_printf(response->body, "configuration: not in force: %s was edited and not reloaded\n",
                              snapshot->self.config_edited);
        else if (snapshot && snapshot->self.config_restart[0])
                buffer_printf(response->body, "configuration: wait for a restart: %s\n", snapshot->self.config_restart);
        else if (snapshot && snapshot->self.config_ignored[0])
                buffer_printf(response->body, "configuration: without effect, since perfd.socket opens the sockets: %s\n",
                              snapshot->self.config_ignored);
}

/* perfd is not ready while it refuses all submissions. The answer says why, and describes damage. */
static void answer_ready(const Target *target, const Sources *sources, Response *response) {
        const StoreStats *store = sources->snapshot ? &sources->snapshot->store : &(StoreStats){ .is_writable = true };
        bool is_ready = sources->is_ready && store->is_writable && !store->damage.is_condemned;

        (void)target;
        response->type = CONTENT_TEXT;
        response->status = is_ready ? 200 : 503;
        buffer_puts(response->body, is_ready ? "ready\n" : "not ready\n");
        if (!store->is_writable)
                buffer_printf(response->body, "store: %s\n", store->error);
        if (store->damage.found[0])
                buffer_printf(response->body, "damaged: %s\n", store->damage.found);
}

static void answer_openapi(const Target *target, const Sources *sources, Response *response) {
        (void)target;
        (void)sources;
        buffer_puts(response->body, openapi_json);
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
        { "self", false, self_subject_metrics, NULL },
        { "self", false, NULL, self_subject_metrics_now },
        {},
};

const Subject self_subject = { routes, collectors };
