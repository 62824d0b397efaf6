/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Screen: text for people
 *
 * Writes into a Buffer. Colours and block characters only where the terminal has them; what came
 * from elsewhere (names, commands, notes) goes through screen_text(), so that no control
 * character reaches the terminal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* For the terminal, file or pipe `fd`. Looks at TERM, NO_COLOR, COLUMNS and the locale's variables. */
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
/* "Title" in bold on a line of its own, after an empty line unless it is the first. */
void screen_heading(Screen *screen, const char *text);
/* "  label      text" */
void screen_field(Screen *screen, const char *label, const char *text);

#define TEXT_MAX 64U
/* "250 ms", "12.3 s", "4 min 05 s", "3 h 02 min", "2 d 04 h" */
void text_duration(uint64_t ns, char ret[static TEXT_MAX]);
/* The same of what somebody else computed: "-" where it is no time. */
void text_seconds(double s, char ret[static TEXT_MAX]);
/* Three or four significant digits: "0.0123", "12.3", "1234". */
void text_number(double v, char ret[static TEXT_MAX]);
/* Mebibytes as "512 KiB", "12.3 MiB", "1.50 TiB". */
void text_mib(double mib, char ret[static TEXT_MAX]);
/* Local time, "2026-11-20 21:58:18". "-" for 0. */
void text_time(uint64_t realtime_ms, char ret[static TEXT_MAX]);

/* Appends JSON text as it is, but for DEL and C1, which become \u00NN: they can only be inside strings. */
void screen_json(Screen *screen, const char *text, size_t n);
