/* SPDX-License-Identifier: Apache-2.0 */
#include "http/format/negotiate.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Piece of a header, not NUL-terminated. */
typedef struct Piece {
        const char *text;
        size_t n;
} Piece;

static Piece piece_trim(Piece piece) {
        while (piece.n > 0 && strchr(" \t", piece.text[0])) {
                piece.text++;
                piece.n--;
        }
        while (piece.n > 0 && strchr(" \t", piece.text[piece.n - 1]))
                piece.n--;

        return piece;
}

/* Cuts the next piece off *rest, up to the separator; separators within quotes do not count. False at the end. */
static bool piece_next(Piece *rest, char separator, Piece *ret) {
        bool is_quoted = false;
        size_t n;

        if (rest->n == 0)
                return false;

        for (n = 0; n < rest->n && (is_quoted || rest->text[n] != separator); n++)
                if (rest->text[n] == '"')
                        is_quoted = !is_quoted;

        *ret = piece_trim((Piece){ rest->text, n });
        n += n < rest->n; /* the separator */
        rest->text += n;
        rest->n -= n;
        return true;
}

static bool piece_is(Piece piece, const char *text) {
        return piece.n == strlen(text) && strncasecmp(piece.text, text, piece.n) == 0;
}

static bool piece_begins(Piece piece, const char *text) {
        return piece.n >= strlen(text) && strncasecmp(piece.text, text, strlen(text)) == 0;
}

/* Parses "0", "1" or "0.5", with at most three decimals, in thousandths. Anything else counts as 0, not accepted. */
static unsigned quality_parse(Piece piece) {
        unsigned v = 0, unit = 1000;

        if (piece.n == 0 || piece.n > 5 || (piece.n > 1 && piece.text[1] != '.'))
                return 0;

        for (size_t i = 0; i < piece.n; i++) {
                if (i == 1)
                        continue;
                if (piece.text[i] < '0' || piece.text[i] > '9')
                        return 0;
                v += (unsigned)(piece.text[i] - '0') * unit;
                unit /= 10;
        }

        return v <= 1000 ? v : 0;
}

/* Element of a list: "text/plain;version=0.0.4;q=0.5". */
typedef struct MediaRange {
        Piece name, version;
        unsigned quality; /* quality in thousandths */
} MediaRange;

static bool choice_next(Piece *rest, MediaRange *ret) {
        Piece element, parameter;

        if (!piece_next(rest, ',', &element))
                return false;

        *ret = (MediaRange){ .quality = 1000 };
        (void)piece_next(&element, ';', &ret->name);
        while (piece_next(&element, ';', &parameter)) {
                if (piece_begins(parameter, "q="))
                        ret->quality = quality_parse((Piece){ parameter.text + 2, parameter.n - 2 });
                else if (piece_begins(parameter, "version="))
                        ret->version = (Piece){ parameter.text + 8, parameter.n - 8 };
        }

        return true;
}

static bool is_openmetrics(const MediaRange *choice) {
        if (!piece_is(choice->name, "application/openmetrics-text"))
                return false;

        return choice->version.n == 0 || piece_is(choice->version, "1.0.0") || piece_is(choice->version, "0.0.1");
}

static bool is_text(const MediaRange *choice) {
        return piece_is(choice->name, "text/plain") || piece_is(choice->name, "text/*");
}

bool negotiate_openmetrics(const char *accept) {
        unsigned openmetrics = 0, text = 0;
        MediaRange choice;
        Piece rest;

        if (!accept)
                return false;

        rest = (Piece){ accept, strlen(accept) };
        while (choice_next(&rest, &choice)) {
                if (is_openmetrics(&choice) && choice.quality > openmetrics)
                        openmetrics = choice.quality;
                else if (is_text(&choice) && choice.quality > text)
                        text = choice.quality;
        }

        return openmetrics > 0 && openmetrics >= text;
}

bool negotiate_html(const char *accept) {
        MediaRange choice;
        Piece rest = { accept, accept ? strlen(accept) : 0 };

        while (choice_next(&rest, &choice))
                if (piece_is(choice.name, "text/html") && choice.quality > 0)
                        return true;
        return false;
}

bool negotiate_gzip(const char *accept_encoding) {
        bool has_gzip = false, is_gzip_welcome = false, is_any_welcome = false;
        MediaRange choice;
        Piece rest;

        if (!accept_encoding)
                return false;

        rest = (Piece){ accept_encoding, strlen(accept_encoding) };
        while (choice_next(&rest, &choice)) {
                if (piece_is(choice.name, "gzip") || piece_is(choice.name, "x-gzip")) {
                        has_gzip = true;
                        is_gzip_welcome = choice.quality > 0;
                } else if (piece_is(choice.name, "*"))
                        is_any_welcome = choice.quality > 0;
        }

        return has_gzip ? is_gzip_welcome : is_any_welcome;
}
