/* SPDX-License-Identifier: Apache-2.0 */
#include "client/api/mlflow.h"

#include <stddef.h>
#include <string.h>

static bool is_allowed(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-. /", c));
}

static size_t append(char *ret, size_t n, const char *text) {
        for (; *text && n < MLFLOW_NAME_MAX - 1; text++)
                if (is_allowed(*text))
                        ret[n++] = *text;
        return n;
}

void mlflow_name(const char *prefix, const char *key, char ret[static MLFLOW_NAME_MAX]) {
        ret[append(ret, append(ret, 0, prefix), key)] = '\0';
}

static bool is_part(const char *part, size_t n) {
        return n > 0 && !(n == 1 && part[0] == '.') && !(n == 2 && part[0] == '.' && part[1] == '.');
}

bool mlflow_name_is_valid(const char *name) {
        if (strncmp(name, "..", 2) == 0)
                return false;

        for (;; name++) {
                size_t n = strcspn(name, "/");

                if (!is_part(name, n))
                        return false;
                name += n;
                if (*name == '\0')
                        return true;
        }
}
