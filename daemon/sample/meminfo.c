/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/meminfo.h"

#include "sample/text.h"
#include "util/parse.h"
#include "util/scoped.h"

#define KIB 1024U

typedef struct MeminfoField {
        const char *key;
        size_t n_key;
        size_t offset; /* in SampleMemory */
        const char *fault; /* when it is missing; NULL: then it is 0 */
} MeminfoField;

#define FIELD(name, member, fault) { name ":", sizeof(name), offsetof(SampleMemory, member), fault }

/* In the order of the file, so that each line is compared with one key only. */
static const MeminfoField fields[] = {
        FIELD("MemTotal", total_bytes, "no MemTotal"),
        FIELD("MemFree", free_bytes, "no MemFree"),
        FIELD("MemAvailable", available_bytes, "no MemAvailable"),
        FIELD("Buffers", buffers_bytes, "no Buffers"),
        FIELD("Cached", cached_bytes, "no Cached"),
        FIELD("SwapTotal", swap_total_bytes, NULL),
        FIELD("SwapFree", swap_free_bytes, NULL),
};

/* Finds the field at or after *p and moves *p behind it; leaves *p where it is when there is none. */
static int parse_field(const char **p, const MeminfoField *field, SampleMemory *memory, const char **ret_fault) {
        const char *at = *p;
        uint64_t kib;

        while (at && strncmp(at, field->key, field->n_key) != 0)
                at = text_next_line(at);
        if (!at)
                return field->fault ? text_malformed(field->fault, ret_fault) : 0;

        at = parse_next_u64(at + field->n_key, &kib);
        if (!at || !(at = text_skip(at, " kB\n")) || kib > UINT64_MAX / KIB)
                return text_malformed("a line that is not a number of kB", ret_fault);

        *(uint64_t *)((char *)memory + field->offset) = kib * KIB;
        *p = at;
        return 0;
}

int meminfo_parse(const char *text, SampleMemory *ret, const char **ret_fault) {
        SampleMemory memory = {};

        for (size_t i = 0; i < N_ELEMENTS(fields); i++) {
                int r = parse_field(&text, &fields[i], &memory, ret_fault);

                if (r != 0)
                        return r;
        }

        *ret = memory;
        return 0;
}
