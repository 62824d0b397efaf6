/* SPDX-License-Identifier: Apache-2.0 */
#include "document/model_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

#define WORDS_TEXT_MAX 300U

int model_reader_wrong(ModelReader *reader, const char *key, const char *format, ...) {
        char path[2 * COMPLAINT_PATH_MAX], text[4 * COMPLAINT_TEXT_MAX];
        va_list args;

        if (reader->is_wrong)
                return MODEL_INVALID;
        reader->is_wrong = true;
        (void)snprintf(path, sizeof(path), "%s%s%.*s", reader->path, reader->path[0] && key ? "." : "",
                       (int)(key ? utf8_cut(key, COMPLAINT_PATH_MAX - 2) : 0), key ?: "");
        va_start(args, format);
        utf8_vformat(text, sizeof(text), format, args);
        va_end(args);
        (void)indicator_complain(reader->complaint, path, "%s", text);
        return MODEL_INVALID;
}

int model_reader_status(const ModelReader *reader) {
        return reader->is_wrong ? MODEL_INVALID : 0;
}

size_t model_reader_find_word(const char *word, const char *const *words, size_t n) {
        size_t i = 0;

        while (i < n && (!words[i] || strcmp(words[i], word) != 0))
                i++;
        return i;
}

/* Writes a list of words for a complaint. */
static void join_words(const char *const *words, size_t n_words, char ret[static WORDS_TEXT_MAX]) {
        int n = 0;

        for (size_t i = 0; i < n_words && n < (int)WORDS_TEXT_MAX; i++)
                if (words[i])
                        n += snprintf(ret + n, WORDS_TEXT_MAX - (size_t)n, "%s%s", n > 0 ? ", " : "", words[i]);
}

int model_reader_check_keys(ModelReader *reader, const Value *object, const char *const *keys, size_t n_keys) {
        char all[WORDS_TEXT_MAX];

        for (size_t i = 0; i < object->n_members; i++) {
                if (model_reader_find_word(object->members[i].key, keys, n_keys) < n_keys)
                        continue;
                join_words(keys, n_keys, all);
                return model_reader_wrong(reader, object->members[i].key, "is unknown: expected one of %s", all);
        }

        return model_reader_status(reader);
}

/* YAML treats U+2028 and U+2029 as line breaks, and U+FEFF, U+FFFE and U+FFFF as invalid, quoted or not: a
 * declaration that is kept as JSON would be read back differently. */
static bool is_yaml(const char *text) {
        static const char *const special[] = { "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xef\xbf\xbe",
                                               "\xef\xbf\xbf" };

        for (size_t i = 0; i < N_ELEMENTS(special); i++)
                if (strstr(text, special[i]))
                        return false;
        return true;
}

bool model_reader_is_line(const char *text) {
        return utf8_is_line(text) && is_yaml(text);
}

/* As the function above, but allows line breaks and tabs. */
static bool is_text(const char *text) {
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if ((*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
                        return false;
        return is_yaml(text);
}

int model_reader_take_text(ModelReader *reader, const Value *object, const char *key, size_t n_max, const char **ret) {
        const Value *value = value_get_given(object, key);
        bool is_help = strcmp(key, "help") == 0;
        size_t n;

        if (!value || reader->is_wrong)
                return model_reader_status(reader);
        if (value->type != VALUE_STRING)
                return model_reader_wrong(reader, key, "is %s, must be a string", value_type_text(value));
        n = strlen(value->string);
        if (n == 0 || n > n_max)
                return model_reader_wrong(reader, key, "must have 1 to %zu bytes", n_max);
        if (is_help ? !is_text(value->string) : !model_reader_is_line(value->string))
                return model_reader_wrong(reader, key, "has control characters: remove them");

        *ret = value->string;
        return 0;
}

int model_reader_take_bool(ModelReader *reader, const Value *object, const char *key, bool *ret) {
        const Value *value = value_get_given(object, key);

        if (!value || reader->is_wrong)
                return model_reader_status(reader);
        if (value->type != VALUE_BOOL)
                return model_reader_wrong(reader, key, "is %s, must be true or false", value_type_text(value));

        *ret = value->boolean;
        return 0;
}

int model_reader_take_word(ModelReader *reader, const Value *object, const char *key, const char *const *words,
                           size_t n_words, unsigned *ret) {
        const Value *value = value_get_given(object, key);
        size_t i = value && value->type == VALUE_STRING ? model_reader_find_word(value->string, words, n_words)
                                                        : n_words;
        char all[WORDS_TEXT_MAX];

        if (!value || reader->is_wrong)
                return model_reader_status(reader);
        if (i < n_words) {
                *ret = (unsigned)i;
                return 0;
        }

        join_words(words, n_words, all);
        if (value->type == VALUE_STRING)
                return model_reader_wrong(reader, key, "'%.40s' is not one of %s", value->string, all);
        return model_reader_wrong(reader, key, "is %s, must be one of %s", value_type_text(value), all);
}

int model_reader_take_number(ModelReader *reader, const Value *object, const char *key, double *ret) {
        const Value *value = value_get_given(object, key);

        if (!value || reader->is_wrong)
                return model_reader_status(reader);
        if (!value_is_number(value))
                return model_reader_wrong(reader, key, "is %s, must be a number", value_type_text(value));

        *ret = value_number(value);
        return 0;
}

static int check_name(ModelReader *reader, const char *key, const Value *name) {
        if (name->type != VALUE_STRING)
                return model_reader_wrong(reader, key, "is %s, must be a name", value_type_text(name));
        if (!*name->string || strlen(name->string) > KEY_MAX_BYTES || !model_reader_is_line(name->string))
                return model_reader_wrong(reader, key, "must be a name of 1 to %u bytes without control characters",
                                          KEY_MAX_BYTES);
        return 0;
}

int model_reader_take_names(ModelReader *reader, const Value *object, const char *key, const Value **ret) {
        const Value *list = value_get_given(object, key);
        char place[64];
        int r = 0;

        if (!list || reader->is_wrong)
                return model_reader_status(reader);
        if (list->type != VALUE_LIST)
                return model_reader_wrong(reader, key, "is %s, must be a list of names as in [version]",
                                          value_type_text(list));
        if (list->n_items > MODEL_NAMES_MAX)
                return model_reader_wrong(reader, key, "has %zu names, may have up to %u", list->n_items,
                                          MODEL_NAMES_MAX);

        for (size_t i = 0; i < list->n_items && r == 0; i++) {
                (void)snprintf(place, sizeof(place), "%s[%zu]", key, i);
                r = check_name(reader, place, &list->items[i]);
        }
        if (r == 0)
                *ret = list;
        return r;
}
