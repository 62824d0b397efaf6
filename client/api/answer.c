/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/answer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "client/wire/user.h"

/* --- refusals -------------------------------------------------------------------------------------- */

#define RECENT_MS (10U * 60U * 1000U)

bool answer_refusal_is_recent(const Value *resource, uint64_t now_ms) {
        uint64_t last_ms = answer_time(resource, "refused_last_ms");

        return last_ms > 0 && last_ms + RECENT_MS > now_ms;
}

const Value *answer_next_refused(const Value *users, uint64_t now_ms, size_t *i) {
        while (*i < answer_length(users)) {
                const Value *user = &users->items[(*i)++], *resources = value_get(user, "resources");

                for (size_t k = 0; k < answer_length(resources); k++)
                        if (answer_refusal_is_recent(&resources->items[k], now_ms))
                                return user;
        }
        return NULL;
}

void answer_put_refused_name(const Value *user, Buffer *out) {
        char name[65] = "";
        int64_t uid;

        if (value_get_int(user, "uid", &uid))
                user_name_find((uid_t)uid, name, sizeof(name));
        buffer_puts(out, *name ? name : answer_text(user, "user"));
}

void answer_put_refused_user(const Value *user, uint64_t now_ms, Buffer *out) {
        const Value *resources = value_get(user, "resources");
        const char *separator = ": ";

        answer_put_refused_name(user, out);
        for (size_t i = 0; i < answer_length(resources); i++) {
                const Value *resource = &resources->items[i];
                char first[TEXT_MAX], last[TEXT_MAX];

                if (!answer_refusal_is_recent(resource, now_ms))
                        continue;
                text_time(answer_time(resource, "refused_first_ms"), first);
                text_time(answer_time(resource, "refused_last_ms"), last);
                buffer_printf(out, "%s%s (%" PRIu64 " refused since %s, last %s)", separator,
                              answer_text(resource, "name"), answer_time(resource, "refused"), first, last);
                separator = ", ";
        }
}

/* --- answer ------------------------------------------------------------------------------------------ */

bool answer_metric(const Value *from, const char *key, AnswerMetric *ret) {
        const Value *metric = answer_find(value_get(from, "metrics"), "key", key);

        if (!value_get_double(metric, "value", &ret->value))
                return false;

        ret->unit = answer_text(metric, "unit");
        ret->is_exact = strcmp(answer_text(metric, "quality"), "exact") == 0;
        return true;
}

void answer_metric_format(const AnswerMetric *metric, char ret[static TEXT_MAX]) {
        char number[TEXT_MAX];
        bool is_plain = strcmp(metric->unit, "1") == 0;

        text_number(metric->value, number);
        if (strcmp(metric->unit, "MiB") == 0)
                text_mib(metric->value, ret);
        else if (strcmp(metric->unit, "bytes") == 0)
                text_mib(metric->value / 1048576, ret);
        else if (strcmp(metric->unit, "h") == 0)
                text_seconds(metric->value * 3600, ret);
        else if (strcmp(metric->unit, "s") == 0)
                text_seconds(metric->value, ret);
        else if (strcmp(metric->unit, "cpus") == 0)
                text_cpus(metric->value, ret);
        else if (strcmp(metric->unit, "%") == 0)
                snprintf(ret, TEXT_MAX, "%.1f %%", metric->value);
        else
                snprintf(ret, TEXT_MAX, "%.40s%s%.16s", number, is_plain ? "" : " ", is_plain ? "" : metric->unit);
}

double answer_number(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : NAN;
}

double answer_number_or_zero(const Value *from, const char *key) {
        double v;

        return value_get_double(from, key, &v) ? v : 0;
}

uint64_t answer_time(const Value *from, const char *key) {
        int64_t v;

        return value_get_int(from, key, &v) && v > 0 ? (uint64_t)v : 0;
}

const char *answer_text(const Value *from, const char *key) {
        const char *text = value_get_string(from, key);

        return text ? text : "";
}

void answer_put_value(Buffer *out, const Value *value) {
        char digits[TEXT_MAX];

        if (value->type == VALUE_STRING)
                buffer_puts(out, text_shorten_digest(value->string, digits));
        else
                value_write_json(value, &(Json){ .out = out });
}

bool answer_flag(const Value *from, const char *key) {
        const Value *value = value_get(from, key);

        return value && value->type == VALUE_BOOL && value->boolean;
}

bool answer_model_applies(const Value *model) {
        const Value *uid = value_get(model, "applies_to_uid");

        return !uid || uid->type == VALUE_NULL || answer_time(model, "applies_to_uid") == geteuid();
}

const Value *answer_find_declaration(const Value *models, const char *name, const char *component) {
        const Value *of_any = NULL;

        for (size_t i = 0; i < answer_length(models); i++) {
                const Value *model = &models->items[i];
                const char *of = value_get_string(model, "component");

                if (strcmp(answer_text(model, "name"), name) != 0 || !answer_model_applies(model))
                        continue;
                if (of && strcmp(of, component) == 0)
                        return value_get(model, "declaration");
                if (!of)
                        of_any = value_get(model, "declaration");
        }
        return of_any;
}

size_t answer_length(const Value *list) {
        return list && list->type == VALUE_LIST ? list->n_items : 0;
}

size_t answer_n_members(const Value *object) {
        return object && object->type == VALUE_OBJECT ? object->n_members : 0;
}

const Value *answer_find(const Value *list, const char *key, const char *text) {
        for (size_t i = 0; i < answer_length(list); i++)
                if (strcmp(answer_text(&list->items[i], key), text) == 0)
                        return &list->items[i];
        return NULL;
}
