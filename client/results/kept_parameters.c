/* SPDX-License-Identifier: Apache-2.0 */
#include "client/results/kept_parameters.h"

#include <errno.h>
#include <string.h>

#include "client/facts/build_info.h"
#include "value/value_parse.h"

void kept_parameters_deinit(KeptParameters *kept) {
        buffer_deinit(&kept->text);
        arena_deinit(&kept->arena);
}

static int write_text(const Indicator *indicator, Buffer *out) {
        const Value *document = indicator->document;
        Json json = { .out = out };

        json_object_begin(&json);
        value_put_json(indicator->parameters, "@parameters", &json);
        for (size_t i = 0; document && document->type == VALUE_OBJECT && i < document->n_members; i++)
                if (build_info_is_key(document->members[i].key))
                        value_put_json(&document->members[i].value, document->members[i].key, &json);
        json_object_end(&json);
        return buffer_error(out);
}

int kept_parameters_add(KeptParameters *kept, const Indicator *indicator) {
        scoped(buffer_deinit) Buffer text = {};
        int r;

        if (!indicator->parameters || kept->differ)
                return 0;
        if (kept->text.n == 0)
                return write_text(indicator, &kept->text);

        r = write_text(indicator, &text);
        kept->differ = r == 0 && (text.n != kept->text.n || memcmp(text.text, kept->text.text, text.n) != 0);
        return r;
}

int kept_parameters_document(KeptParameters *kept, const Value **ret) {
        ValueError error;
        int r;

        *ret = NULL;
        if (kept->text.n == 0 || kept->differ)
                return 0;

        arena_deinit(&kept->arena);
        kept->arena = (Arena){};
        r = value_parse_only(kept->text.text, kept->text.n, &kept->arena, ret, &error);
        return r <= 0 ? r : -ENOMEM; /* it was written as JSON above */
}
