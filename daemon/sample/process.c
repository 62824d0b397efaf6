/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/process.h"

#include <string.h>

#include "util/scan.h"

/*
 * Field numbers of proc(5). Field 2, the name, is in parentheses and may contain any character, including
 * parentheses.
 */
#define FIELD_STATE 3
#define FIELD_START 22

int process_stat_parse(const char *text, uint64_t *ret_start_ticks) {
        const char *p = strrchr(text, ')');

        if (!p)
                return PROCESS_MALFORMED;
        p = scan_blanks(p + 1);
        if (*p == 'Z' || *p == 'X')
                return PROCESS_ENDED;

        for (unsigned field = FIELD_STATE; field < FIELD_START; field++) {
                p = scan_blanks(p);
                p += strcspn(p, " \n");
        }

        p = scan_u64(p, ret_start_ticks);
        return p && *p == ' ' ? 0 : PROCESS_MALFORMED;
}

int32_t process_stat_parent(const char *text) {
        const char *p = strrchr(text, ')'); /* then come the state, a letter, and the parent */
        uint64_t parent;

        if (!p || p[1] != ' ' || !p[2] || !scan_u64(scan_blanks(p + 3), &parent) || parent > INT32_MAX)
                return 0;
        return (int32_t)parent;
}
