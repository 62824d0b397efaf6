/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "http/scrape.h"

static const ScrapeKey first = { .place = 0 }, packed = { .place = 0, .is_packed = true },
                       last = { .place = SCRAPE_TEXTS_MAX - 1 };

static ScrapeText make_text(const char *words) {
        scoped(buffer_deinit) Buffer buffer = {};
        ScrapeText text = { .sum = { .n = strlen(words) } };

        buffer_puts(&buffer, words);
        assert_int_equal(shared_text_new(&text.text, &buffer), 0);
        return text;
}

static void keep(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, const char *words) {
        ScrapeText text = make_text(words);

        scrape_cache_keep(cache, serial, key, &text);
        shared_text_unref(text.text);
}

static void assert_found(ScrapeCache *cache, uint64_t serial, const ScrapeKey *key, const char *words) {
        ScrapeText text;
        size_t n;

        assert_int_equal(scrape_cache_find(cache, serial, key, &text), words != NULL);
        if (!words)
                return;
        assert_string_equal(shared_text_get(text.text, &n), words);
        assert_int_equal(n, strlen(words));
        assert_int_equal(text.sum.n, n);
        shared_text_unref(text.text);
}

static void a_text_is_found_for_its_snapshot_and_form_only(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;
        const ScrapeKey openmetrics = { .place = 0, .is_openmetrics = true };

        (void)state;
        assert_int_equal(scrape_cache_new(&cache), 0);
        assert_found(cache, 0, &first, NULL);
        assert_found(cache, 7, &first, NULL);
        keep(cache, 7, &first, "seven");
        keep(cache, 7, &last, "the last");
        assert_found(cache, 7, &first, "seven");
        assert_found(cache, 7, &last, "the last");
        assert_found(cache, 7, &packed, NULL);
        assert_found(cache, 7, &openmetrics, NULL);
        assert_found(cache, 6, &first, NULL);
        assert_found(cache, 8, &first, NULL);
}

static void the_first_of_two_writers_wins(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;

        (void)state;
        assert_int_equal(scrape_cache_new(&cache), 0);
        keep(cache, 7, &first, "seven");
        keep(cache, 7, &first, "seven again");
        assert_found(cache, 7, &first, "seven");
}

static void a_later_snapshot_replaces_all_texts(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;

        (void)state;
        assert_int_equal(scrape_cache_new(&cache), 0);
        keep(cache, 7, &first, "seven");
        keep(cache, 7, &packed, "seven, packed");
        keep(cache, 8, &first, "eight");
        assert_found(cache, 8, &first, "eight");
        assert_found(cache, 8, &packed, NULL);
        assert_found(cache, 7, &packed, NULL);
        keep(cache, 7, &packed, "of a slow writer");
        assert_found(cache, 7, &packed, NULL);
        assert_found(cache, 8, &packed, NULL);
}

static void texts_expire_with_their_snapshot(void **state) {
        scoped(scrape_cache_freep) ScrapeCache *cache = NULL;
        ScrapeText held;
        size_t n;

        (void)state;
        assert_int_equal(scrape_cache_new(&cache), 0);
        scrape_cache_expire(cache, 7);
        keep(cache, 7, &first, "seven");
        scrape_cache_expire(cache, 6);
        scrape_cache_expire(cache, 7);
        assert_true(scrape_cache_find(cache, 7, &first, &held));
        scrape_cache_expire(cache, 8);
        assert_found(cache, 7, &first, NULL);
        assert_string_equal(shared_text_get(held.text, &n), "seven"); /* an answer that is being sent */
        shared_text_unref(held.text);
}

static void a_scrape_sums_its_texts(void **state) {
        const ScrapeText texts[] = { make_text("one"), make_text("three"), make_text("") };
        Scrape scrape = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(texts); i++)
                scrape_add(&scrape, &texts[i]);
        assert_int_equal(scrape_size(&scrape), 8);
        assert_int_equal(scrape.sum.n, 8);
        scrape_clear(&scrape);
        assert_int_equal(scrape_size(&scrape), 0);
        assert_int_equal(scrape.sum.n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_text_is_found_for_its_snapshot_and_form_only),
                cmocka_unit_test(the_first_of_two_writers_wins),
                cmocka_unit_test(a_later_snapshot_replaces_all_texts),
                cmocka_unit_test(texts_expire_with_their_snapshot),
                cmocka_unit_test(a_scrape_sums_its_texts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
