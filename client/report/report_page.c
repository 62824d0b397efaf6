/* SPDX-License-Identifier: Apache-2.0 */
#include "client/report/report_page.h"

#include <string.h>

#define DATA_MARK "@DATA@"

/* Texts of jobs may have "</script>": in JSON, < is in strings only. */
void report_page_put(const char *page, const Buffer *data, Buffer *out) {
        const char *mark = strstr(page, DATA_MARK), *less;

        buffer_put(out, page, (size_t)(mark - page));
        for (const char *p = data->text; p; p = less ? less + 1 : NULL) {
                less = strchr(p, '<');
                buffer_put(out, p, less ? (size_t)(less - p) : strlen(p));
                if (less)
                        buffer_puts(out, "\\u003c");
        }
        buffer_puts(out, mark + strlen(DATA_MARK));
}
