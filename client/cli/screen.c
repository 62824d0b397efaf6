/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "util/parse.h"
#include "util/utf8.h"

static const char *const style_codes[N_STYLES] = {
        [STYLE_BOLD] = "\x1b[1m", [STYLE_DIM] = "\x1b[2m",     [STYLE_GOOD] = "\x1b[32m",
        [STYLE_WARN] = "\x1b[33m", [STYLE_BAD] = "\x1b[1;31m", [STYLE_BAR] = "\x1b[36m",
};

#define WIDTH_DEFAULT 80U
#define WIDTH_MIN 40U
#define WIDTH_MAX 400U

static bool is_set(const char *name) {
        const char *value = getenv(name);

        return value && *value;
}

/* Follows the rules of setlocale(3) without loading a locale. */
static bool locale_is_utf8(void) {
        const char *name = is_set("LC_ALL")     ? getenv("LC_ALL")
                           : is_set("LC_CTYPE") ? getenv("LC_CTYPE")
                                                : getenv("LANG");

        return name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8"));
}

static unsigned find_width(int fd) {
        struct winsize size;
        uint64_t columns;

        if (is_set("COLUMNS") && parse_u64(getenv("COLUMNS"), &columns) == 0 && columns > 0)
                return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : (unsigned)columns;
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;

        return WIDTH_DEFAULT;
}

void screen_init(Screen *screen, Buffer *out, int fd, bool no_color) {
        const char *term = getenv("TERM");
        bool can_move = isatty(fd) == 1 && term && *term && strcmp(term, "dumb") != 0;

        *screen = (Screen){
                .out = out,
                .width = find_width(fd),
                .can_move = can_move,
                .has_color = can_move && !no_color && !is_set("NO_COLOR"),
                .has_unicode = locale_is_utf8(),
        };
}

/* Loads the locale, which has the widths of characters. The text is UTF-8 whatever the user's locale is. */
static void load_locale(void) {
        if (strcmp(setlocale(LC_CTYPE, NULL), "C") != 0)
                return;

        if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
                (void)setlocale(LC_CTYPE, "C.UTF-8");
}

/*
 * Returns the width of a character that is not a control character; 1 if the locale does not know the character. ASCII
 * needs no locale, for which the C library opens four files.
 */
static size_t columns_of(uint32_t c) {
        int n;

        if (c < 0x80)
                return 1;

        load_locale();
        n = wcwidth((wchar_t)c);
        return n < 0 ? 1 : (size_t)n;
}

/* Writes one character, escaped if necessary. Returns its length in bytes in the text. */
static size_t put_character(Buffer *out, const char *text, size_t n, size_t *ret_columns) {
        char safe[UTF8_SAFE_MAX];
        size_t n_character = utf8_make_safe(text, n, safe), n_safe = strlen(safe);
        bool is_itself = n_safe == n_character && memcmp(safe, text, n_safe) == 0;

        buffer_put(out, safe, n_safe);
        *ret_columns = is_itself ? columns_of(utf8_decode(text, n_character)) : n_safe;
        return n_character;
}

size_t screen_text_cut(Screen *screen, const char *text, size_t n_columns) {
        size_t n = strlen(text), columns = 0, n_fitting = screen->out->n, fitting = 0;

        for (size_t i = 0; i < n;) {
                size_t taken;

                i += put_character(screen->out, text + i, n - i, &taken);
                columns += taken;
                if (columns > n_columns) {
                        screen->out->n = n_fitting;
                        buffer_puts(screen->out, screen->has_unicode ? "…" : "~");
                        return fitting + 1;
                }
                /* last position at which an ellipsis still fits */
                if (columns < n_columns) {
                        n_fitting = screen->out->n;
                        fitting = columns;
                }
        }

        return columns;
}

size_t screen_text(Screen *screen, const char *text) {
        return screen_text_cut(screen, text, SIZE_MAX);
}

void screen_style_begin(Screen *screen, Style style) {
        if (screen->has_color)
                buffer_puts(screen->out, style_codes[style]);
}

void screen_style_end(Screen *screen) {
        if (screen->has_color)
                buffer_puts(screen->out, "\x1b[0m");
}

void screen_styled(Screen *screen, Style style, const char *text) {
        screen_style_begin(screen, style);
        (void)screen_text(screen, text);
        screen_style_end(screen);
}

void screen_pad(Screen *screen, size_t n_taken, size_t n_columns) {
        for (size_t i = n_taken; i < n_columns; i++)
                buffer_putc(screen->out, ' ');
}

void screen_bar(Screen *screen, double ratio, size_t n_columns) {
        static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
        size_t n_eighths, n_full;

        ratio = isnan(ratio) || ratio < 0 ? 0 : ratio > 1 ? 1 : ratio;
        n_eighths = (size_t)lround(ratio * (double)n_columns * 8);
        if (!screen->has_unicode)
                n_eighths = (size_t)lround(ratio * (double)n_columns) * 8;
        n_full = n_eighths / 8;

        screen_style_begin(screen, STYLE_BAR);
        for (size_t i = 0; i < n_full; i++)
                buffer_puts(screen->out, screen->has_unicode ? "█" : "#");
        buffer_puts(screen->out, eighths[n_eighths % 8]);
        screen_style_end(screen);

        screen_style_begin(screen, STYLE_DIM);
        for (size_t i = n_full + (n_eighths % 8 > 0); i < n_columns; i++)
                buffer_puts(screen->out, screen->has_unicode ? "·" : ".");
        screen_style_end(screen);
}

/* Returns the length of an escape sequence such as "\x1b[1m", which has no width; 0 if there is none. */
static size_t style_length(const char *text, size_t n) {
        const char *end = n > 1 && text[0] == '\x1b' ? memchr(text, 'm', n) : NULL;

        return end ? (size_t)(end - text) + 1 : 0;
}

/* Returns the number of bytes of a line that fit, at least one character; *ret_rest: offset of the next line. */
static size_t fold_length(const char *line, size_t n, size_t n_columns, size_t *ret_rest) {
        size_t columns = 0, blank = 0, i = strspn(line, " ") < n ? strspn(line, " ") : n;

        for (columns = i; i < n;) {
                size_t n_style = style_length(line + i, n - i),
                       n_bytes = n_style > 0 ? 0 : utf8_length(line + i, n - i);

                if (line[i] == ' ')
                        blank = i;
                n_bytes = n_style > 0 || n_bytes > 0 ? n_bytes : 1;
                columns += n_bytes > 1 ? columns_of(utf8_decode(line + i, n_bytes)) : n_bytes;
                if (columns > n_columns) {
                        *ret_rest = blank > 0 ? blank + strspn(line + blank, " ") : i;
                        return blank > 0 ? blank : i;
                }
                i += n_style + n_bytes;
        }

        *ret_rest = n;
        return n;
}

/* Indents continuation lines further, up to a quarter of the width. */
static void fold_line(Screen *screen, const char *line, size_t n) {
        size_t indent = strspn(line, " ") + 4, rest;

        indent = indent < screen->width / 4 ? indent : screen->width / 4;
        for (size_t n_indent = 0; n > 0; n_indent = indent) {
                size_t n_fitting = fold_length(line, n, screen->width - n_indent, &rest);

                screen_pad(screen, 0, n_indent);
                buffer_put(screen->out, line, n_fitting);
                while (rest < n && screen->out->n > 0 && screen->out->text[screen->out->n - 1] == ' ')
                        screen->out->n--;
                buffer_putc(screen->out, '\n');
                line += rest;
                n -= rest;
        }
}

void screen_fold(Screen *screen, size_t begin) {
        scoped(freep) char *wide = NULL;

        if (buffer_error(screen->out) < 0 || screen->out->n <= begin)
                return;

        wide = strdup(screen->out->text + begin);
        if (!wide) {
                screen->out->failed = true;
                return;
        }
        screen->out->n = begin;
        for (const char *line = wide; *line;) {
                size_t n = strcspn(line, "\n");

                if (n == 0)
                        buffer_putc(screen->out, '\n');
                fold_line(screen, line, n);
                line += n + (line[n] == '\n');
        }
}

void screen_line(Screen *screen, const char *format, ...) {
        scoped(buffer_deinit) Buffer text = {};
        size_t begin = screen->out->n;
        va_list args;

        va_start(args, format);
        buffer_vprintf(&text, format, args);
        va_end(args);
        (void)screen_text(screen, text.text ?: "");
        buffer_putc(screen->out, '\n');
        screen_fold(screen, begin);
}

void screen_wrap(Screen *screen, const char *text, size_t indent) {
        size_t column = indent;

        while (*text) {
                scoped(freep) char *word = NULL;
                size_t n = strcspn(text, " \n"), n_before = screen->out->n, n_taken;

                word = strndup(text, n);
                text += n + strspn(text + n, " \n");
                if (!word) {
                        screen->out->failed = true;
                        return;
                }
                if (column > indent)
                        buffer_putc(screen->out, ' ');
                n_taken = (column > indent) + screen_text(screen, word);
                if (column > indent && column + n_taken > screen->width) {
                        screen->out->n = n_before;
                        buffer_putc(screen->out, '\n');
                        screen_pad(screen, 0, indent);
                        column = indent;
                        n_taken = screen_text(screen, word);
                }
                column += n_taken;
        }
        buffer_putc(screen->out, '\n');
}

void screen_heading(Screen *screen, const char *text) {
        if (screen->out->n > 0)
                buffer_putc(screen->out, '\n');
        screen_styled(screen, STYLE_BOLD, text);
        buffer_putc(screen->out, '\n');
}

void screen_json(Screen *screen, const char *text, size_t n) {
        const unsigned char *p = (const unsigned char *)text;

        for (size_t i = 0; i < n; i++) {
                if (p[i] == 0x7f)
                        buffer_puts(screen->out, "\\u007f");
                else if (p[i] == 0xc2 && i + 1 < n && p[i + 1] >= 0x80 && p[i + 1] < 0xa0)
                        buffer_printf(screen->out, "\\u%04x", p[++i]);
                else
                        buffer_putc(screen->out, text[i]);
        }
}
