/* SPDX-License-Identifier: Apache-2.0 */
#include "http/composition.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "util/scoped.h"

/* libmicrohttpd 0.9.73 and later send pieces from where they are; earlier versions copy them block by block. */
#if MHD_VERSION >= 0x00097300
typedef struct MHD_IoVec Piece;
#else
typedef struct iovec Piece;
#define BLOCK_BYTES (32U * 1024U)
#endif

typedef struct Composition {
        char *rest; /* owned; behind the texts */
        Scrape scrape;
        Piece pieces[SCRAPE_TEXTS_MAX + 2]; /* of the texts and the rest */
        unsigned n;
} Composition;

static void on_released(void *userdata) {
        Composition *composition = userdata;

        free(composition->rest);
        scrape_clear(&composition->scrape);
        free(composition);
}

static void add_piece(Composition *composition, const void *bytes, size_t n_bytes) {
        if (n_bytes > 0)
                composition->pieces[composition->n++] = (Piece){ (void *)bytes, n_bytes };
}

#if MHD_VERSION >= 0x00097300
static struct MHD_Response *respond(Composition *composition) {
        return MHD_create_response_from_iovec(composition->pieces, composition->n, on_released, composition);
}
#else
static ssize_t on_read(void *userdata, uint64_t offset, char *ret, size_t n) {
        const Composition *composition = userdata;
        size_t n_done = 0;

        for (unsigned i = 0; i < composition->n && n_done < n; i++) {
                const Piece *piece = &composition->pieces[i];
                size_t n_left = offset < piece->iov_len ? piece->iov_len - offset : 0;
                size_t n_copied = n_left < n - n_done ? n_left : n - n_done;

                memcpy(ret + n_done, (const char *)piece->iov_base + piece->iov_len - n_left, n_copied);
                n_done += n_copied;
                offset -= offset < piece->iov_len ? offset : piece->iov_len;
        }
        return (ssize_t)n_done;
}

static struct MHD_Response *respond(Composition *composition) {
        uint64_t n_bytes = 0;

        for (unsigned i = 0; i < composition->n; i++)
                n_bytes += composition->pieces[i].iov_len;
        return MHD_create_response_from_callback(n_bytes, BLOCK_BYTES, on_read, composition, on_released);
}
#endif

struct MHD_Response *composition_respond(Scrape *scrape, bool is_packed, Buffer *rest) {
        Composition *composition = malloc(sizeof(*composition));
        struct MHD_Response *response;

        if (!composition)
                return NULL;

        composition->n = 0;
        if (is_packed)
                add_piece(composition, gzip_head, sizeof(gzip_head));
        for (size_t i = 0; i < scrape->n; i++) {
                size_t n_bytes;
                const char *text = shared_text_get(scrape->texts[i].text, &n_bytes);

                add_piece(composition, text, n_bytes);
        }
        add_piece(composition, rest->text, rest->n);
        composition->rest = TAKE(rest->text);
        composition->scrape = *scrape;
        scrape->n = 0;

        response = respond(composition);
        if (!response)
                on_released(composition);
        return response;
}
