/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/pressure.h"

#include <assert.h>

#include "sample/kernel_text.h"
#include "util/scan.h"

/* Parses the total of the line at p. Returns the start of the next line, or NULL. */
static const char *scan_total(const char *p, uint64_t *ret_us) {
        const char *next = kernel_text_next_line(p);
        const char *at;

        if (!next)
                return NULL;

        at = memmem(p, (size_t)(next - p), " total=", 7);
        if (!at || at[7] < '0' || !(at = scan_u64(at + 7, ret_us)) || *at != '\n')
                return NULL;
        return next;
}

int pressure_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us, const char **ret_fault) {
        uint64_t some_us, full_us;
        const char *p = text;

        assert(ret_some_us || ret_full_us);
        if (ret_some_us) {
                p = kernel_text_skip(p, "some");
                if (!p)
                        return kernel_text_malformed("no some line", ret_fault);
                p = scan_total(p, &some_us);
                if (!p)
                        return kernel_text_malformed("a some line without a total", ret_fault);
        }
        if (ret_full_us) {
                p = kernel_text_skip(p, "full");
                if (!p)
                        return kernel_text_malformed("no full line", ret_fault);
                if (!scan_total(p, &full_us))
                        return kernel_text_malformed("a full line without a total", ret_fault);
                *ret_full_us = full_us;
        }
        if (ret_some_us)
                *ret_some_us = some_us;
        return 0;
}
