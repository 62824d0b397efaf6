/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scrape: the answer of /metrics, in texts that scrapes share
 *
 * A snapshot is immutable, and so is what the collectors write about it: it is written and compressed for the first
 * scrape that asks for it, and is a part of the answers to all later ones until the next snapshot is published. In
 * each format and encoding, there is one text for scrapes that name no collectors, and one for each name: clients
 * cannot make more of them by choosing sets of names. What does not come from the snapshot follows the shared texts,
 * and is written for each scrape.
 *
 * The cache of these texts is used by all threads. Its lock is held to copy and drop references, never while a text
 * is written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/format/gzip.h"
#include "snapshot/shared_texts.h"
#include "util/scoped.h"

#define SCRAPE_TEXTS_MAX 24U /* in one format and encoding */

/* A shared text. */
typedef struct ScrapeText {
        SharedText *text; /* a reference */
        GzipSum sum;      /* before compression; a text that is not compressed has no checksum */
} ScrapeText;

/* Place of a text in the cache. */
typedef struct ScrapeKey {
        size_t place; /* < SCRAPE_TEXTS_MAX */
        bool is_openmetrics, is_packed, has_names;
} ScrapeKey;

typedef struct ScrapeCache ScrapeCache;

int scrape_cache_new(ScrapeCache **ret);
ScrapeCache *scrape_cache_free(ScrapeCache *cache);
DEFINE_SCOPED(ScrapeCache, scrape_cache_free);
/* Returns whether the cache has the text for this snapshot; if so, *ret has a reference. serial: of the snapshot. */
bool scrape_cache_find(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, ScrapeText *ret);
/* Takes a reference to the text, and drops those of older snapshots; does nothing if the cache has texts of a later
 * one. */
void scrape_cache_keep(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, const ScrapeText *text);
/* Drops the texts of snapshots before this one. Never waits: does nothing while the lock is held. */
void scrape_cache_expire(ScrapeCache *cache, uint64_t serial);

/* The beginning of an answer. Zeroed: no texts. */
typedef struct Scrape {
        bool is_openmetrics;
        bool has_names; /* of jobs and users */
        ScrapeCache *cache; /* borrowed; NULL: the answer is written without shared texts */
        Gzip *gzip;         /* borrowed; NULL: the client does not accept compressed answers */
        ScrapeText texts[SCRAPE_TEXTS_MAX]; /* compressed if there is a gzip */
        size_t n;
        GzipSum sum; /* of all texts */
} Scrape;

/* Adds a text and takes over the reference. */
void scrape_add(Scrape *scrape, const ScrapeText *text);
/* Drops the references. */
void scrape_clear(Scrape *scrape);
/* Returns the size of all texts, compressed if they are. */
size_t scrape_size(const Scrape *scrape);

/* Makes a response of the texts, which are not copied into one, and of the text of `rest` behind them. Takes all of
 * them. is_packed: they are parts of a gzip stream, whose head comes first. NULL: out of memory. */
struct MHD_Response *scrape_respond(Scrape *scrape, bool is_packed, Buffer *rest);
