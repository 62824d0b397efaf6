/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/loadavg.h"

#include "sample/kernel_text.h"
#include "util/scan.h"

/* Parses "0.05 ", always with two decimals. Independent of the locale, unlike strtod(). */
static const char *scan_load(const char *p, double *ret) {
        uint64_t whole, hundredths;
        const char *point;

        point = scan_u64(p, &whole);
        if (!point || point[0] != '.' || point[1] < '0')
                return NULL;

        p = scan_u64(point + 1, &hundredths);
        if (!p || p != point + 3 || *p != ' ' || whole > UINT32_MAX)
                return NULL;

        *ret = (double)(whole * 100 + hundredths) / 100; /* rounded once: 3.53, not 3.5300000000000002 */
        return p;
}

int loadavg_parse(const char *text, SampleLoad *ret, const char **ret_fault) {
        uint64_t n_running, n_threads;
        double load[3];

        for (size_t i = 0; i < 3; i++) {
                text = scan_load(text, &load[i]);
                if (!text)
                        return kernel_text_malformed("a load that is not a number", ret_fault);
        }

        text = scan_u64(text, &n_running);
        if (!text || *text != '/' || !(text = scan_u64(text + 1, &n_threads)) || *text != ' ' ||
            n_running > UINT32_MAX || n_threads > UINT32_MAX)
                return kernel_text_malformed("no count of threads", ret_fault);
        if (!kernel_text_next_line(text))
                return kernel_text_malformed("truncated", ret_fault);

        *ret = (SampleLoad){
                .average1 = load[0],
                .average5 = load[1],
                .average15 = load[2],
                .n_running = n_running > 0 ? (uint32_t)n_running - 1 : 0,
                .n_threads = (uint32_t)n_threads,
        };
        return 0;
}
