/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Screen: text for terminals
 *
 * Writes into a Buffer. Colours and block characters only where the terminal has them; what came
 * from elsewhere (names, commands, notes) goes through screen_text(), so that no control
 * character reaches the terminal.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"

typedef enum Style {
        STYLE_BOLD,
        STYLE_DIM,
        STYLE_GOOD,
        STYLE_WARN,
        STYLE_BAD,
        STYLE_BAR,
        N_STYLES,
} Style;

typedef struct Screen {
        Buffer *out; /* borrowed */
        unsigned width; /* columns */
        bool has_color;
        bool has_unicode;
        bool can_move; /* it is a terminal that knows more than lines */
} Screen;

/* Prepares output for the terminal, file or pipe `fd`. Reads TERM, NO_COLOR, COLUMNS and the locale's variables. */
void screen_init(Screen *screen, Buffer *out, int fd, bool no_color);

/* Escapes controls, DEL, C1, bidirectional overrides and what is not UTF-8 as \xNN or \u{NNNN}. Returns the columns it took. */
size_t screen_text(Screen *screen, const char *text);
/* The same, cut with an ellipsis to n_columns. */
size_t screen_text_cut(Screen *screen, const char *text, size_t n_columns);
void screen_styled(Screen *screen, Style style, const char *text);
void screen_style_begin(Screen *screen, Style style);
void screen_style_end(Screen *screen);
void screen_pad(Screen *screen, size_t n_taken, size_t n_columns);
/* ratio 0…1 of n_columns. */
void screen_bar(Screen *screen, double ratio, size_t n_columns);
/* Breaks what was written from byte `begin` of the buffer on into lines that fit, at blanks where there are any. */
void screen_fold(Screen *screen, size_t begin);
/* Writes the text in lines of words that end before the width, and go on at `indent`, which is also where the first begins. */
void screen_wrap(Screen *screen, const char *text, size_t indent);
/* "Title" in bold on a line of its own, after an empty line unless it is the first. */
void screen_heading(Screen *screen, const char *text);

/* Appends JSON text as it is, but for DEL and C1, which become \u00NN: they can only be inside strings. */
void screen_json(Screen *screen, const char *text, size_t n);
