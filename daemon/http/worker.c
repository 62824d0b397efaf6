/* SPDX-License-Identifier: Apache-2.0 */
#include "http/worker.h"

#include <microhttpd.h>

#include "http/negotiate.h"

/* Smaller answers are not worth compressing. */
#define GZIP_BYTES_MIN 1024U
/* A worker releases the buffer of an answer longer than this. */
#define BODY_KEPT_BYTES (256U * 1024U)

static void buffer_trim(Buffer *buffer) {
        if (buffer->n_allocated > BODY_KEPT_BYTES)
                buffer_deinit(buffer);
}

void worker_trim(Worker *worker) {
        if (worker->reader)
                reader_reset(worker->reader);
        buffer_trim(&worker->body);
        buffer_trim(&worker->packed);
}

void worker_deinit(Worker *worker) {
        reader_free(worker->reader);
        buffer_deinit(&worker->body);
        buffer_deinit(&worker->packed);
        gzip_deinit(&worker->gzip);
}

static const char *const content_types[] = {
        [CONTENT_JSON] = "application/json",
        [CONTENT_TEXT] = "text/plain; charset=utf-8",
        [CONTENT_HTML] = "text/html; charset=utf-8",
        [CONTENT_CSV] = "text/csv; charset=utf-8; header=present",
        [CONTENT_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [CONTENT_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

static void add_headers(struct MHD_Response *response, const Exchange *exchange, bool is_packed) {
        (void)MHD_add_response_header(response, "Content-Type", content_types[exchange->type]);
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        (void)MHD_add_response_header(response, "Cache-Control", "no-store");
        (void)MHD_add_response_header(response, "Vary", "Accept-Encoding, Accept");
        if (exchange->next[0])
                (void)MHD_add_response_header(response, "Perfd-Next-Page", exchange->next);
        if (is_packed)
                (void)MHD_add_response_header(response, "Content-Encoding", "gzip");
        if (exchange->type == CONTENT_HTML)
                (void)MHD_add_response_header(response, "Content-Security-Policy",
                                              "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                                              "form-action 'none'; frame-ancestors 'none'");
        if (exchange->status == 405)
                (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        if (exchange->status == 503 || exchange->status == 429)
                (void)MHD_add_response_header(response, "Retry-After", "1");
}

size_t worker_pack(Worker *worker, struct MHD_Connection *connection) {
        const char *encodings = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");

        buffer_clear(&worker->packed);
        worker->is_packed = worker->body.n > GZIP_BYTES_MIN && negotiate_gzip(encodings) &&
                            gzip_pack(&worker->gzip, worker->body.text, worker->body.n, &worker->packed) == 0;
        return worker->is_packed ? worker->packed.n : worker->body.n;
}

struct MHD_Response *worker_make_response(Worker *worker, const Exchange *exchange) {
        Buffer *body = worker->is_packed ? &worker->packed : &worker->body;
        struct MHD_Response *response;

        buffer_shrink(body);
        response = MHD_create_response_from_buffer(body->n, body->text, MHD_RESPMEM_MUST_FREE);
        if (!response)
                return NULL;

        *body = (Buffer){}; /* the response has the text */
        add_headers(response, exchange, worker->is_packed);
        return response;
}
