/* SPDX-License-Identifier: Apache-2.0 */
#include "http/worker.h"

#include <microhttpd.h>
#include <stdlib.h>

/* Smaller answers are not worth compressing. */
#define GZIP_BYTES_MIN 1024U
/* A worker releases the buffer of an answer longer than this. */
#define BODY_EXPORT_BYTES (256U * 1024U)

static void buffer_trim(Buffer *buffer) {
        if (buffer->n_allocated > BODY_EXPORT_BYTES)
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

static void add_headers(struct MHD_Response *response, const Response *answer, bool is_packed) {
        (void)MHD_add_response_header(response, "Content-Type", content_types[answer->type]);
        (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        (void)MHD_add_response_header(response, "Cache-Control", "no-store");
        (void)MHD_add_response_header(response, "Vary", "Accept-Encoding, Accept");
        if (answer->next[0])
                (void)MHD_add_response_header(response, "Perfd-Next-Page", answer->next);
        if (is_packed)
                (void)MHD_add_response_header(response, "Content-Encoding", "gzip");
        if (answer->type == CONTENT_HTML)
                (void)MHD_add_response_header(response, "Content-Security-Policy",
                                              "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                                              "form-action 'none'; frame-ancestors 'none'");
        if (answer->status == 405)
                (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        if (answer->status == 503 || answer->status == 429)
                (void)MHD_add_response_header(response, "Retry-After", "1");
}

/* Compresses the body, and ends the answer that begins with the texts of the scrape. 0 or -ENOMEM. */
static int pack_end(Worker *worker, const Response *answer) {
        GzipSum sum = answer->scrape.sum, rest;
        int r;

        r = gzip_pack_part(&worker->gzip, worker->body.text, worker->body.n, &worker->packed, &rest);
        if (r < 0)
                return r;

        gzip_sum_add(&sum, &rest);
        gzip_put_end(&sum, &worker->packed);
        return buffer_error(&worker->packed);
}

/* 0 or -ENOMEM. */
static int pack_body(Worker *worker, const Response *answer) {
        if (answer->scrape.n > 0)
                return pack_end(worker, answer);
        return gzip_pack(&worker->gzip, worker->body.text, worker->body.n, &worker->packed);
}

size_t worker_pack(Worker *worker, Response *answer) {
        const Scrape *scrape = &answer->scrape;
        int r = 0;

        buffer_clear(&worker->packed);
        worker->is_packed = scrape->gzip && (scrape->n > 0 || worker->body.n > GZIP_BYTES_MIN);
        if (worker->is_packed)
                r = pack_body(worker, answer);
        if (r < 0 && scrape->n > 0)
                (void)exchange_error(answer, 503, "out of memory"); /* the texts are compressed: the body has to be */
        if (r < 0)
                worker->is_packed = false;
        return scrape_size(scrape) + (worker->is_packed ? worker->packed.n : worker->body.n);
}

/* The pieces of a response with shared texts. */
typedef struct Composition {
        char *rest; /* owned; behind the texts */
        Scrape scrape;
} Composition;

static void on_released(void *userdata) {
        Composition *composition = userdata;

        free(composition->rest);
        scrape_clear(&composition->scrape);
        free(composition);
}

static void add_piece(struct MHD_IoVec *pieces, unsigned *n, const void *bytes, size_t n_bytes) {
        if (n_bytes > 0)
                pieces[(*n)++] = (struct MHD_IoVec){ bytes, n_bytes };
}

/* Takes the texts and the rest of the answer. */
static struct MHD_Response *compose(Scrape *scrape, bool is_packed, Buffer *rest) {
        struct MHD_IoVec pieces[SCRAPE_TEXTS_MAX + 2];
        Composition *composition = malloc(sizeof(*composition));
        struct MHD_Response *response;
        unsigned n = 0;

        if (!composition)
                return NULL;

        if (is_packed)
                add_piece(pieces, &n, gzip_head, sizeof(gzip_head));
        for (size_t i = 0; i < scrape->n; i++) {
                size_t n_bytes;
                const char *text = shared_text_get(scrape->texts[i].text, &n_bytes);

                add_piece(pieces, &n, text, n_bytes);
        }
        add_piece(pieces, &n, rest->text, rest->n);
        *composition = (Composition){ TAKE(rest->text), *scrape };
        scrape->n = 0;

        response = MHD_create_response_from_iovec(pieces, n, on_released, composition);
        if (!response)
                on_released(composition);
        return response;
}

struct MHD_Response *worker_make_response(Worker *worker, Response *answer) {
        Buffer *body = worker->is_packed ? &worker->packed : &worker->body;
        struct MHD_Response *response;

        buffer_shrink(body);
        if (answer->scrape.n > 0)
                response = compose(&answer->scrape, worker->is_packed, body);
        else
                response = MHD_create_response_from_buffer(body->n, body->text, MHD_RESPMEM_MUST_FREE);
        if (!response)
                return NULL;

        *body = (Buffer){}; /* the response has the text */
        add_headers(response, answer, worker->is_packed);
        return response;
}
