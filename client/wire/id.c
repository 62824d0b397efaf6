/* SPDX-License-Identifier: Apache-2.0 */
#include "client/wire/id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Up to 256 bytes come whole or not at all. */
static int random_bytes(void *ret, size_t n) {
        ssize_t k;

        do
                k = getrandom(ret, n, 0);
        while (k < 0 && errno == EINTR);

        return k < 0 ? -errno : 0;
}

int id_make_result(uint64_t realtime_ms, uint8_t ret[static RESULT_ID_BYTES]) {
        int r;

        r = random_bytes(ret, RESULT_ID_BYTES);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < 6; i++)
                ret[i] = (uint8_t)(realtime_ms >> (40 - 8 * i));
        ret[6] = (uint8_t)(0x70 | (ret[6] & 0x0f));
        ret[8] = (uint8_t)(0x80 | (ret[8] & 0x3f));
        return 0;
}

void id_format_result(const uint8_t id[static RESULT_ID_BYTES], char ret[static RESULT_ID_TEXT_MAX]) {
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < RESULT_ID_BYTES; i++) {
                ret[2 * i] = digits[id[i] >> 4];
                ret[2 * i + 1] = digits[id[i] & 15];
        }
        ret[2 * RESULT_ID_BYTES] = '\0';
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -1;
}

bool id_parse_result(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        uint8_t id[RESULT_ID_BYTES];

        if (strlen(text) != RESULT_ID_TEXT_MAX - 1)
                return false;

        for (size_t i = 0; i < RESULT_ID_BYTES; i++) {
                int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

                if (high < 0 || low < 0)
                        return false;
                id[i] = (uint8_t)(high << 4 | low);
        }

        memcpy(ret, id, sizeof(id));
        return true;
}

int id_make_job(uint64_t realtime_ms, char ret[static JOB_ID_TEXT_MAX]) {
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        uint8_t random[5];
        int r;

        r = random_bytes(random, sizeof(random));
        if (r < 0)
                return r;

        ret[0] = 'j';
        for (unsigned i = 0; i < 10; i++)
                ret[1 + i] = digits[realtime_ms >> (45 - 5 * i) & 31];
        for (unsigned i = 0; i < sizeof(random); i++)
                ret[11 + i] = digits[random[i] & 31];
        ret[16] = '\0';
        return 0;
}
