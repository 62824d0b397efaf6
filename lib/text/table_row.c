/* SPDX-License-Identifier: Apache-2.0 */
#include "text/table_row.h"

#include <string.h>

/* Reads "a ""b""; c" of RFC 4180 in place, and moves behind it. Returns false if it has no end. */
static bool unquote(char **at) {
        char *to = *at, *p = *at + 1;

        for (; *p && !(*p == '"' && p[1] != '"'); p++) {
                p += *p == '"';
                *to++ = *p;
        }
        if (!*p)
                return false;
        memset(to, '\0', (size_t)(p - to + 1));
        *at = p + 1;
        return true;
}

bool table_row_split(char *line, char separator, TableRow *ret) {
        char end = '\n';

        for (ret->n = 0; ret->n < TABLE_ROW_CELLS_MAX && end; line++) {
                char *cell = line += strspn(line, separator == '\t' ? " " : " \t"), *last;

                if (*line == '"') {
                        if (!unquote(&line))
                                return false;
                        line += strspn(line, separator == '\t' ? " " : " \t");
                        if (*line && *line != separator)
                                return false;
                } else
                        line += separator ? strcspn(line, (char[]){ separator, '\0' }) : strlen(line);
                end = *line;
                *line = '\0';
                ret->cells[ret->n++] = cell;
                last = cell + strlen(cell);
                while (last > cell && strchr(" \t", last[-1]))
                        *--last = '\0';
        }
        return true;
}

char table_row_find_separator(const char *line) {
        for (const char *separator = ";\t,"; *separator; separator++) {
                bool is_quoted = false;

                for (const char *p = line; *p; p++) {
                        is_quoted ^= *p == '"';
                        if (*p == *separator && !is_quoted)
                                return *separator;
                }
        }
        return '\0';
}
