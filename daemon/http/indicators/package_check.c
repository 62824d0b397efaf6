/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/package_check.h"

#include <errno.h>
#include <string.h>

#include "store/indicators/stack_facts.h"
#include "util/nearest.h"

#define LISTED_BYTES_MAX 400U

/* Names of packages, for a message. */
typedef struct Known {
        char nearest[NEAREST_WORD_MAX + 1]; /* "": none is similar */
        Buffer list;
        size_t n_unlisted;
} Known;

static void known_deinit(Known *known) {
        buffer_deinit(&known->list);
}

static void add_name(Known *known, const char *asked, const char *name) {
        const char *const words[] = { name, known->nearest };
        const char *nearest = strlen(name) <= NEAREST_WORD_MAX ? nearest_word(asked, words, known->nearest[0] ? 2 : 1) : NULL;

        if (nearest == name)
                strcpy(known->nearest, name);
        if (known->list.n + strlen(name) < LISTED_BYTES_MAX)
                buffer_printf(&known->list, "%s%s", known->list.n > 0 ? ", " : "", name);
        else
                known->n_unlisted++;
}

static int say_unknown(Exchange *exchange, const char *name) {
        scoped(known_deinit) Known known = {};
        const char *other;
        int r;

        r = stack_reader_list_names(exchange->reader, NULL);
        while (r == 0 && (r = stack_reader_next_name(exchange->reader, &other)) == 0)
                add_name(&known, name, other);
        if (r != READER_END)
                return exchange_store_error(exchange, r);
        if (known.list.n == 0)
                return exchange_error(exchange, 400, "no result has a software stack with packages: see perfctl run --stack");
        if (known.n_unlisted > 0)
                buffer_printf(&known.list, " and %zu more", known.n_unlisted);
        if (buffer_error(&known.list) < 0)
                return exchange_store_error(exchange, -ENOMEM);
        return exchange_error(exchange, 400, "no software stack has the package '%.100s'%s%s%s Packages: %s", name,
                              known.nearest[0] ? ": did you mean " : ".", known.nearest, known.nearest[0] ? "?" : "", known.list.text);
}

int package_check(Exchange *exchange, const char *key) {
        scoped(buffer_deinit) Buffer name = {};
        const char *found;
        int r;

        if (!stack_facts_read_package(key, &name))
                return 0;
        if (buffer_error(&name) < 0)
                return exchange_store_error(exchange, -ENOMEM);

        r = stack_reader_list_names(exchange->reader, name.text);
        if (r == 0)
                r = stack_reader_next_name(exchange->reader, &found);
        reader_reset(exchange->reader);
        if (r == READER_END)
                return say_unknown(exchange, name.text);
        return r == 0 ? 0 : exchange_store_error(exchange, r);
}
