/* SPDX-License-Identifier: Apache-2.0 */
#include "jobs/table/left_out.h"

static uint64_t part_of(uint64_t keep_ns) {
        return keep_ns / (LEFT_OUT_PARTS - 4) + 1;
}

void left_out_add(LeftOut *left_out, uint64_t ended_ns, uint64_t keep_ns) {
        uint64_t number;

        if (left_out->part_ns != part_of(keep_ns))
                *left_out = (LeftOut){ .part_ns = part_of(keep_ns) };

        number = ended_ns / left_out->part_ns;
        if (left_out->number[number % LEFT_OUT_PARTS] != number)
                left_out->n[number % LEFT_OUT_PARTS] = 0;
        left_out->number[number % LEFT_OUT_PARTS] = number;
        left_out->n[number % LEFT_OUT_PARTS]++;
}

uint64_t left_out_count(const LeftOut *left_out, uint64_t now_ns, uint64_t keep_ns) {
        uint64_t n = 0;

        if (left_out->part_ns != part_of(keep_ns))
                return 0;
        for (unsigned i = 0; i < LEFT_OUT_PARTS; i++)
                if ((left_out->number[i] + 1) * left_out->part_ns + keep_ns > now_ns)
                        n += left_out->n[i];
        return n;
}
