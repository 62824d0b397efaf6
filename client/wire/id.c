/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int id_make_result(uint64_t realtime_ms, uint8_t ret[static RESULT_ID_BYTES]) {
        if (getentropy(ret, RESULT_ID_BYTES) < 0)
                return -errno;

        for (unsigned i = 0; i < 6; i++)
                ret[i] = (uint8_t)(realtime_ms >> (40 - 8 * i));
        ret[6] = (uint8_t)(0x70 | (ret[6] & 0x0f));
        ret[8] = (uint8_t)(0x80 | (ret[8] & 0x3f));
        return 0;
}

void id_format_result(const uint8_t id[static RESULT_ID_BYTES], char ret[static RESULT_ID_TEXT_MAX]) {
        for (size_t i = 0; i < RESULT_ID_BYTES; i++)
                (void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

bool id_parse_result(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        if (strlen(text) != RESULT_ID_TEXT_MAX - 1 || strspn(text, "0123456789abcdef") != RESULT_ID_TEXT_MAX - 1)
                return false;

        for (size_t i = 0; i < RESULT_ID_BYTES; i++)
                (void)sscanf(text + 2 * i, "%2hhx", &ret[i]);
        return true;
}

int id_make_job(uint64_t realtime_ms, char ret[static JOB_ID_TEXT_MAX]) {
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        uint8_t random[5];

        if (getentropy(random, sizeof(random)) < 0)
                return -errno;

        ret[0] = 'j';
        for (unsigned i = 0; i < 10; i++)
                ret[1 + i] = digits[realtime_ms >> (45 - 5 * i) & 31];
        for (unsigned i = 0; i < sizeof(random); i++)
                ret[11 + i] = digits[random[i] & 31];
        ret[16] = '\0';
        return 0;
}
