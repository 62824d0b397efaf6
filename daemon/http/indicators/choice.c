/* SPDX-License-Identifier: Apache-2.0 */
#include "http/indicators/choice.h"

#include <string.h>

#include "util/parse.h"
#include "util/scoped.h"

static const char *const names[] = {
        [CHOICE_N] = "n",
        [CHOICE_MEAN] = "mean",
        [CHOICE_MEDIAN] = "median",
        [CHOICE_SD] = "sd",
        [CHOICE_STANDARD_ERROR] = "standard_error",
        [CHOICE_MIN] = "min",
        [CHOICE_MAX] = "max",
        [CHOICE_Q1] = "q1",
        [CHOICE_Q3] = "q3",
        [CHOICE_IQR] = "iqr",
        [CHOICE_COV] = "cov",
        [CHOICE_COVM] = "covm",
        [CHOICE_SKEW] = "skew",
};

static int parse_percentile(const char *text, size_t n, double *ret) {
        char number[16];
        double v;

        if (n < 2 || n >= sizeof(number) || text[0] != 'p' || strspn(text + 1, "0123456789.") < n - 1)
                return CHOICE_MALFORMED;

        memcpy(number, text + 1, n - 1);
        number[n - 1] = '\0';
        if (parse_double(number, &v) != 0 || v > 100)
                return CHOICE_MALFORMED;

        *ret = v;
        return 0;
}

static int parse_field(const char *text, size_t n, Choice *choice) {
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (strlen(names[i]) == n && memcmp(names[i], text, n) == 0) {
                        choice->field = (ChoiceField)i;
                        return 0;
                }

        choice->field = CHOICE_PERCENTILE;
        return parse_percentile(text, n, &choice->percentile);
}

int choice_parse(const char *text, size_t n, Choice *ret) {
        const char *colon = memchr(text, ':', n);

        if (!colon || colon + 1 == text + n || n >= sizeof(ret->text) || n - (size_t)(colon - text) - 1 > KEY_MAX_BYTES ||
            memchr(text, '\0', n))
                return CHOICE_MALFORMED;

        *ret = (Choice){};
        memcpy(ret->text, text, n);
        ret->key = ret->text + (colon - text) + 1;
        return parse_field(text, (size_t)(colon - text), ret);
}

double choice_value(const Choice *choice, const Statistics *statistics, const double *sorted, size_t n) {
        switch (choice->field) {
        case CHOICE_N:
                return (double)statistics->n;
        case CHOICE_MEAN:
                return statistics->mean;
        case CHOICE_MEDIAN:
                return statistics->median;
        case CHOICE_SD:
                return statistics->sd;
        case CHOICE_STANDARD_ERROR:
                return statistics->standard_error;
        case CHOICE_MIN:
                return statistics->min;
        case CHOICE_MAX:
                return statistics->max;
        case CHOICE_Q1:
                return statistics->q1;
        case CHOICE_Q3:
                return statistics->q3;
        case CHOICE_IQR:
                return statistics->iqr;
        case CHOICE_COV:
                return statistics->cov;
        case CHOICE_COVM:
                return statistics->covm;
        case CHOICE_SKEW:
                return statistics->skew;
        case CHOICE_PERCENTILE:
                return statistics_quantile_of_sorted(sorted, n, choice->percentile / 100);
        }
        return statistics->median;
}

bool choice_has_unit(const Choice *choice) {
        return choice->field != CHOICE_N && choice->field != CHOICE_COV && choice->field != CHOICE_COVM && choice->field != CHOICE_SKEW;
}
