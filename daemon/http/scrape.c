/* SPDX-License-Identifier: Apache-2.0 */
#include "http/scrape.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <microhttpd.h>

#include "util/lock.h"

#define N_FORMS 8U

struct ScrapeCache {
        pthread_mutex_t mutex;
        uint64_t serial; /* of the snapshot that the texts are about */
        size_t n;
        ScrapeText texts[SCRAPE_TEXTS_MAX * N_FORMS]; /* without text: not written yet */
};

int scrape_cache_new(ScrapeCache **ret) {
        ScrapeCache *cache;

        cache = calloc(1, sizeof(*cache));
        if (!cache)
                return -ENOMEM;

        (void)pthread_mutex_init(&cache->mutex, NULL);
        *ret = cache;
        return 0;
}

/* Caller holds the mutex. */
static void drop_texts(ScrapeCache *cache) {
        for (size_t i = 0; cache->n > 0; i++) {
                assert(i < N_ELEMENTS(cache->texts));
                if (!cache->texts[i].text)
                        continue;
                cache->texts[i].text = shared_text_unref(cache->texts[i].text);
                cache->n--;
        }
}

ScrapeCache *scrape_cache_free(ScrapeCache *cache) {
        if (!cache)
                return NULL;

        drop_texts(cache);
        (void)pthread_mutex_destroy(&cache->mutex);
        free(cache);
        return NULL;
}

static ScrapeText *place(ScrapeCache *cache, const ScrapeKey *key) {
        assert(key->place < SCRAPE_TEXTS_MAX);
        return &cache->texts[key->place * N_FORMS + key->has_names * 4U + key->is_openmetrics * 2U + key->is_packed];
}

bool scrape_cache_find(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, ScrapeText *ret) {
        const ScrapeText *found = place(cache, key);

        LOCKED(&cache->mutex);
        if (cache->serial != serial || !found->text)
                return false;

        *ret = *found;
        (void)shared_text_ref(ret->text);
        return true;
}

void scrape_cache_keep(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, const ScrapeText *text) {
        ScrapeText *kept = place(cache, key);

        LOCKED(&cache->mutex);
        if (serial > cache->serial) {
                drop_texts(cache);
                cache->serial = serial;
        }
        if (cache->serial != serial || kept->text)
                return;

        *kept = *text;
        (void)shared_text_ref(kept->text);
        cache->n++;
}

void scrape_cache_expire(ScrapeCache *cache, uint64_t serial) {
        if (pthread_mutex_trylock(&cache->mutex) != 0)
                return;

        if (cache->serial < serial)
                drop_texts(cache);
        pthread_mutex_unlock(&cache->mutex);
}

void scrape_add(Scrape *scrape, const ScrapeText *text) {
        assert(scrape->n < SCRAPE_TEXTS_MAX);
        scrape->texts[scrape->n++] = *text;
        if (scrape->gzip)
                gzip_sum_add(&scrape->sum, &text->sum);
        else
                scrape->sum.n += text->sum.n;
}

void scrape_clear(Scrape *scrape) {
        while (scrape->n > 0)
                shared_text_unref(scrape->texts[--scrape->n].text);
        scrape->sum = (GzipSum){};
}

size_t scrape_size(const Scrape *scrape) {
        size_t size = 0, n;

        for (size_t i = 0; i < scrape->n; i++) {
                (void)shared_text_get(scrape->texts[i].text, &n);
                size += n;
        }
        return size;
}

/* --- response ------------------------------------------------------------------------------------------ */

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

struct MHD_Response *scrape_respond(Scrape *scrape, bool is_packed, Buffer *rest) {
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
