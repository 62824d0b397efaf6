#include "util/utf8.h"

#include "util/scoped.h"

size_t utf8_length(const char *text, size_t n) {
        static const struct {
                unsigned char first_min, first_max, second_min, second_max;
                size_t n;
        } forms[] = {
                { 0x00, 0x7f, 0,    0,    1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
                { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
                { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
        };
        const unsigned char *p = (const unsigned char *)text;

        for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
                if (p[0] < forms[i].first_min || p[0] > forms[i].first_max)
                        continue;
                if (forms[i].n > n)
                        return 0;
                if (forms[i].n > 1 && (p[1] < forms[i].second_min || p[1] > forms[i].second_max))
                        return 0;
                for (size_t k = 2; k < forms[i].n; k++)
                        if ((p[k] & 0xc0) != 0x80)
                                return 0;
                return forms[i].n;
        }

        return 0;
}
