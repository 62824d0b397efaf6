/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Screen: formats text for terminals
 *
 * Writes into a Buffer. Colours and block characters are used only if the terminal supports them. Untrusted text
 * (names, commands, notes) must be written with screen_text(), which escapes control characters.
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
        unsigned width; /* in columns */
        bool has_color;
        bool has_unicode;
        bool can_move; /* the terminal supports cursor movement */
} Screen;

/* Prepares output to the terminal, file or pipe `fd`. Evaluates TERM, NO_COLOR, COLUMNS and the locale variables. */
void screen_init(Screen *screen, Buffer *out, int fd, bool no_color);

/*
 * Writes text with control characters (C0, DEL, C1), bidirectional overrides and invalid UTF-8 escaped as \xNN or
 * \u{NNNN}. Returns the number of columns written.
 */
size_t screen_text(Screen *screen, const char *text);
/* As screen_text(), truncated to n_columns with an ellipsis. */
size_t screen_text_cut(Screen *screen, const char *text, size_t n_columns);
void screen_styled(Screen *screen, Style style, const char *text);
void screen_style_begin(Screen *screen, Style style);
void screen_style_end(Screen *screen);
void screen_pad(Screen *screen, size_t n_taken, size_t n_columns);
/* Writes a bar of n_columns that shows a ratio from 0 to 1. */
void screen_bar(Screen *screen, double ratio, size_t n_columns);
/* Folds the text from byte `begin` of the buffer into lines that fit the screen, at blanks if possible. */
void screen_fold(Screen *screen, size_t begin);
/* Writes a line as screen_text(), folded. */
void screen_line(Screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Writes text wrapped at words; continuation lines are indented by `indent`, the column at which the first line
 * begins.
 */
void screen_wrap(Screen *screen, const char *text, size_t indent);
/* Writes a bold title on a line of its own, after an empty line unless it is the first. */
void screen_heading(Screen *screen, const char *text);

/* Appends JSON text with DEL and C1 characters as \u00NN: in valid JSON these occur only inside strings. */
void screen_json(Screen *screen, const char *text, size_t n);
