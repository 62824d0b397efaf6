/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/build_info.h"

#include <string.h>

#include "util/sha256.h"

#define SUFFIX "_buildinfo"
#define DIGITS 12

bool build_info_is_key(const char *key) {
        size_t n = strlen(key), n_suffix = strlen(SUFFIX);

        return n > n_suffix && strcmp(key + n - n_suffix, SUFFIX) == 0;
}

/* Returns true for tensorflow_buildinfo and tensorflow_aicoe_buildinfo of tensorflow. */
static bool is_of(const Member *member, const char *package) {
        const char *framework = strcmp(package, "torch") == 0 ? "pytorch" : package;
        size_t n = strlen(framework);

        return build_info_is_key(member->key) && member->value.type != VALUE_NULL &&
               strncmp(member->key, framework, n) == 0 && member->key[n] == '_';
}

void build_info_put(const Value *document, const char *package, Buffer *out) {
        scoped(buffer_deinit) Buffer text = {};
        Json json = { .out = &text };
        char digest[SHA256_TEXT_MAX];

        json_object_begin(&json);
        for (size_t i = 0; document && document->type == VALUE_OBJECT && i < document->n_members; i++)
                if (is_of(&document->members[i], package))
                        value_put_json(&document->members[i].value, document->members[i].key, &json);
        json_object_end(&json);
        if (buffer_error(&text) < 0)
                out->failed = true;
        if (buffer_error(&text) < 0 || strcmp(text.text, "{}") == 0)
                return;

        sha256_text(text.text, text.n, digest);
        buffer_printf(out, "buildinfo:%.*s", DIGITS, digest);
}
