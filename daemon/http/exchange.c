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
#include "util/scoped.h"

void exchange_init(Exchange *exchange, Buffer *body) {
        buffer_clear(body);
        body->n_max = ANSWER_BYTES_MAX;
        *exchange = (Exchange){
                .target.is_read = true,
                .response = { .status = 200, .type = CONTENT_JSON, .body = body },
        };
}

int exchange_error(Response *response, unsigned status, const char *format, ...) {
        char message[1536];
        va_list args;
        Json json = { .out = response->body };

        assert(status >= 400 && status < 600);
        va_start(args, format);
        (void)vsnprintf(message, sizeof(message), format, args);
        va_end(args);

        response->status = status;
        response->type = CONTENT_JSON;
        response->file = NULL;
        response->next[0] = '\0';
        scrape_clear(&response->scrape);
        buffer_clear(response->body);
        json_object_begin(&json);
        json_put_object_begin(&json, "error");
        json_put_uint(&json, "status", status);
        json_put_string(&json, "message", message);
        json_object_end(&json);
        json_object_end(&json);
        return EXCHANGE_ANSWERED;
}

int exchange_check_body(Response *response) {
        int r = buffer_error(response->body);

        if (r == 0 && response->scrape.sum.n + response->body->n > ANSWER_BYTES_MAX)
                r = -EFBIG;
        if (r == 0)
                return 0;
        if (r == -EFBIG)
                return exchange_error(response, 413,
                                      "the answer would have more than %u bytes; select less, such as with limit=, "
                                      "since_ms= or where=, or name one object", ANSWER_BYTES_MAX);
        buffer_deinit(response->body);
        return exchange_error(response, 503, "out of memory");
}

int exchange_store_error(Response *response, int outcome) {
        if (outcome == READER_TIMEOUT)
                return exchange_error(response, 503,
                                      "the request took longer than the limit of %" PRIu64
                                      " ms (setting query_timeout); "
                                      "select less with since_ms=, until_ms= or limit=, or select results with "
                                      "component= or where= on a parameter that a model indexes",
                                      response->query_timeout_ns / NS_PER_MS);
        if (outcome < 0)
                return exchange_error(response, 503, "cannot read the store: %s", strerror(-outcome));

        return exchange_error(response, 503,
                              "the store cannot be read at the moment; live metrics are still available");
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
static int decode(Target *target, Response *response, const char *from, const char *end, const char **ret) {
        size_t begin = target->n_text;

        assert(begin <= sizeof(target->text) && from <= end);
        while (from < end) {
                char c;

                if (target->n_text + 1 >= sizeof(target->text))
                        return exchange_error(response, 414, "path and query are longer than %u bytes",
                                              REQUEST_BYTES_MAX);

                from = decode_char(from, &c);
                if (!from || from > end)
                        return exchange_error(response, 400,
                                              "%% in path or query must be followed by two hexadecimal digits other "
                                              "than 00");

                target->text[target->n_text++] = c;
        }

        if (target->n_text >= sizeof(target->text))
                return exchange_error(response, 414, "path and query are longer than %u bytes", REQUEST_BYTES_MAX);

        target->text[target->n_text++] = '\0';
        *ret = target->text + begin;
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

int exchange_set_path(Target *target, Response *response, const char *path) {
        path = path_of(path);
        if (*path != '/')
                return exchange_error(response, 400, "path must begin with /");

        do {
                const char *begin = path + 1;
                int r;

                if (target->n_segments == SEGMENTS_MAX)
                        return exchange_error(response, 404, "no such path; see /api/v1/openapi.json");

                path = strchrnul(begin, '/');
                r = decode(target, response, begin, path, &target->segments[target->n_segments]);
                if (r > 0)
                        return r;
                target->n_segments++;
        } while (*path);

        return 0;
}

int exchange_add_parameter(Target *target, Response *response, const char *name, const char *value) {
        Parameter parameter;
        int r;

        if (target->n_parameters == PARAMETERS_MAX)
                return exchange_error(response, 414, "more than %u query parameters", PARAMETERS_MAX);

        r = decode(target, response, name, strchr(name, '\0'), &parameter.name);
        if (r > 0)
                return r;

        if (!value)
                return exchange_error(response, 400, "query parameter '%s' needs a value: %s=…", parameter.name,
                                      parameter.name);

        r = decode(target, response, value, strchr(value, '\0'), &parameter.value);
        if (r > 0)
                return r;

        target->parameters[target->n_parameters++] = parameter;
        return 0;
}

const char *exchange_parameter(const Target *target, const char *name) {
        for (size_t i = 0; i < target->n_parameters; i++)
                if (strcmp(target->parameters[i].name, name) == 0)
                        return target->parameters[i].value;
        return NULL;
}

int exchange_parameter_u64(const Target *target, Response *response, const char *name, uint64_t min, uint64_t max,
                           uint64_t fallback, uint64_t *ret) {
        const char *text = exchange_parameter(target, name);
        uint64_t v;

        if (!text) {
                *ret = fallback;
                return 0;
        }

        if (parse_u64(text, &v) != 0 || v < min || v > max)
                return exchange_error(response, 400,
                                      "query parameter '%s' must be a whole number from %" PRIu64 " to %" PRIu64
                                      ", not '%s'",
                                      name, min, max, text);

        *ret = v;
        return 0;
}

int exchange_parameter_bool(const Target *target, Response *response, const char *name, bool *ret) {
        const char *text = exchange_parameter(target, name);

        *ret = text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
        if (text && !*ret && strcmp(text, "0") != 0 && strcmp(text, "false") != 0)
                return exchange_error(response, 400, "query parameter '%s' must be 1, 0, true or false, not '%s'", name,
                                      text);

        return 0;
}

int exchange_parameter_word(const Target *target, Response *response, const char *name, const char *const *words,
                            int *ret) {
        const char *text = exchange_parameter(target, name);
        scoped(buffer_deinit) Buffer list = {};

        *ret = 0;
        if (!text)
                return 0;
        for (int i = 0; words[i]; i++) {
                if (strcmp(words[i], text) == 0) {
                        *ret = i;
                        return 0;
                }
                buffer_printf(&list, "%s%s", i > 0 ? ", " : "", words[i]);
        }
        return exchange_error(response, 400, "query parameter '%s' must be one of %s, not '%s'", name, list.text ?: "",
                              text);
}

int exchange_parameter_is_csv(const Target *target, Response *response, bool *ret) {
        static const char *const formats[] = { "json", "csv", NULL };
        int format, r = exchange_parameter_word(target, response, "format", formats, &format);

        *ret = format == 1;
        return r;
}
