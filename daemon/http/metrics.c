/* SPDX-License-Identifier: Apache-2.0 */
#include "http/metrics.h"

#include <string.h>

static void put_scalar(Exposition *exposition, const void *member, const Scalar *scalar) {
        uint64_t u64;
        uint32_t u32;
        double number;
        bool flag;

        switch (scalar->scalar) {
        case SCALAR_U64:
                memcpy(&u64, member, sizeof(u64));
                exposition_decimal(exposition, u64, scalar->n_decimals);
                return;
        case SCALAR_U32:
                memcpy(&u32, member, sizeof(u32));
                exposition_u64(exposition, u32);
                return;
        case SCALAR_BOOL:
                memcpy(&flag, member, sizeof(flag));
                exposition_u64(exposition, flag);
                return;
        case SCALAR_DOUBLE:
                memcpy(&number, member, sizeof(number));
                exposition_double(exposition, number);
                return;
        }
}

void metrics_scalars(Exposition *exposition, const void *part, const Scalar *scalars, size_t n) {
        for (const Scalar *scalar = scalars; scalar < scalars + n; scalar++) {
                exposition_family(exposition, scalar->name, scalar->type, scalar->unit, scalar->help);
                exposition_sample(exposition);
                put_scalar(exposition, (const char *)part + scalar->offset, scalar);
        }
}
