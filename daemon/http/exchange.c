/* SPDX-License-Identifier: Apache-2.0 */
#include "http/exchange.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "util/clock.h"
#include "util/parse.h"

void exchange_init(Exchange *exchange, Buffer *body) {
        buffer_clear(body);
        body->n_max = ANSWER_BYTES_MAX;
        *exchange = (Exchange){ .is_read = true, .status = 200, .type = CONTENT_JSON, .body = body };
}

int exchange_error(Exchange *exchange, unsigned status, const char *format, ...) {
        char message[1536];
        va_list args;
        Json json = { .out = exchange->body };

        assert(status >= 400 && status < 600);
        va_start(args, format);
        (void)vsnprintf(message, sizeof(message), format, args);
        va_end(args);

        exchange->status = status;
        exchange->type = CONTENT_JSON;
        exchange->next[0] = '\0';
        scrape_clear(&exchange->scrape);
        buffer_clear(exchange->body);
        json_object_begin(&json);
        json_put_object_begin(&json, "error");
        json_put_uint(&json, "status", status);
        json_put_string(&json, "message", message);
        json_object_end(&json);
        json_object_end(&json);
        return EXCHANGE_ANSWERED;
}

int exchange_check_body(Exchange *exchange) {
        int r = buffer_error(exchange->body);

        if (r == 0 && exchange->scrape.sum.n + exchange->body->n > ANSWER_BYTES_MAX)
                r = -EFBIG;
        if (r == 0)
                return 0;
        if (r == -EFBIG)
                return exchange_error(exchange, 413,
                                      "the answer would have more than %u bytes; select less, such as with limit=, since_ms= or where=, "
                                      "or name one object", ANSWER_BYTES_MAX);
        buffer_deinit(exchange->body);
        return exchange_error(exchange, 503, "out of memory");
}

int exchange_store_error(Exchange *exchange, int outcome) {
        if (outcome == READER_TIMEOUT)
                return exchange_error(exchange, 503,
                                      "the request took longer than the limit of %" PRIu64 " ms (setting query_timeout); "
                                      "select less with since_ms=, until_ms= or limit=, or select results with component= or where= on a "
                                      "parameter that a model indexes",
                                      exchange->query_timeout_ns / NS_PER_MS);
        if (outcome < 0)
                return exchange_error(exchange, 503, "cannot read the store: %s", strerror(-outcome));

        return exchange_error(exchange, 503, "the store cannot be read at the moment; live metrics are still available");
}

/* Returns the end of one encoded character, or NULL for a malformed escape and for NUL, which is never valid. */
static const char *decode_char(const char *p, char *ret) {
        if (*p != '%') {
                *ret = *p;
                return p + 1;
        }

        if (!isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
                return NULL;

        *ret = (char)strtoul((char[]){ p[1], p[2], '\0' }, NULL, 16);
        return *ret ? p + 3 : NULL;
}

/* Decodes [from, end) into the exchange's text. */
static int decode(Exchange *exchange, const char *from, const char *end, const char **ret) {
        size_t begin = exchange->n_text;

        assert(begin <= sizeof(exchange->text) && from <= end);
        while (from < end) {
                char c;

                if (exchange->n_text + 1 >= sizeof(exchange->text))
                        return exchange_error(exchange, 414, "path and query are longer than %u bytes", REQUEST_BYTES_MAX);

                from = decode_char(from, &c);
                if (!from || from > end)
                        return exchange_error(exchange, 400,
                                              "%% in path or query must be followed by two hexadecimal digits other than 00");

                exchange->text[exchange->n_text++] = c;
        }

        if (exchange->n_text >= sizeof(exchange->text))
                return exchange_error(exchange, 414, "path and query are longer than %u bytes", REQUEST_BYTES_MAX);

        exchange->text[exchange->n_text++] = '\0';
        *ret = exchange->text + begin;
        return 0;
}

/* A proxy may send the absolute form, http://host/path; the host is ignored. */
static const char *path_of(const char *target) {
        const char *rest = NULL;

        if (strncmp(target, "http://", 7) == 0)
                rest = target + 7;
        else if (strncmp(target, "https://", 8) == 0)
                rest = target + 8;
        if (!rest)
                return target;

        rest = strchr(rest, '/');
        return rest ? rest : "/";
}

int exchange_set_path(Exchange *exchange, const char *path) {
        path = path_of(path);
        if (*path != '/')
                return exchange_error(exchange, 400, "path must begin with /");

        do {
                const char *begin = path + 1;
                int r;

                if (exchange->n_segments == SEGMENTS_MAX)
                        return exchange_error(exchange, 404, "no such path; see /api/v1/openapi.json");

                path = strchrnul(begin, '/');
                r = decode(exchange, begin, path, &exchange->segments[exchange->n_segments]);
                if (r > 0)
                        return r;
                exchange->n_segments++;
        } while (*path);

        return 0;
}

int exchange_add_parameter(Exchange *exchange, const char *name, const char *value) {
        Parameter parameter;
        int r;

        if (exchange->n_parameters == PARAMETERS_MAX)
                return exchange_error(exchange, 414, "more than %u query parameters", PARAMETERS_MAX);

        r = decode(exchange, name, strchr(name, '\0'), &parameter.name);
        if (r > 0)
                return r;

        if (!value)
                return exchange_error(exchange, 400, "query parameter '%s' needs a value: %s=…", parameter.name, parameter.name);

        r = decode(exchange, value, strchr(value, '\0'), &parameter.value);
        if (r > 0)
                return r;

        exchange->parameters[exchange->n_parameters++] = parameter;
        return 0;
}

const char *exchange_parameter(const Exchange *exchange, const char *name) {
        for (size_t i = 0; i < exchange->n_parameters; i++)
                if (strcmp(exchange->parameters[i].name, name) == 0)
                        return exchange->parameters[i].value;
        return NULL;
}

int exchange_parameter_u64(Exchange *exchange, const char *name, uint64_t min, uint64_t max,
                           uint64_t fallback, uint64_t *ret) {
        const char *text = exchange_parameter(exchange, name);
        uint64_t v;

        if (!text) {
                *ret = fallback;
                return 0;
        }

        if (parse_u64(text, &v) != 0 || v < min || v > max)
                return exchange_error(exchange, 400,
                                      "query parameter '%s' must be a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                                      name, min, max, text);

        *ret = v;
        return 0;
}

int exchange_parameter_bool(Exchange *exchange, const char *name, bool *ret) {
        const char *text = exchange_parameter(exchange, name);

        *ret = text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
        if (text && !*ret && strcmp(text, "0") != 0 && strcmp(text, "false") != 0)
                return exchange_error(exchange, 400, "query parameter '%s' must be 1, 0, true or false, not '%s'", name, text);

        return 0;
}
