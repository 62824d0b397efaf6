/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "client/cli/screen.h"
#include "text/text.h"
#include "util/clock.h"

static const Screen plain = { .width = 80 };
static const Screen ascii_color = { .width = 80, .has_color = true };
static const Screen unicode = { .width = 80, .has_unicode = true };

#define assert_written(screen_, expected, call)                                 \
        do {                                                                    \
                scoped(buffer_deinit) Buffer out_ = {};                         \
                Screen s = (screen_);                                           \
                s.out = &out_;                                                  \
                buffer_puts(&out_, "");                                         \
                call;                                                           \
                assert_string_equal(out_.text, expected);                       \
        } while (0)

static void no_control_character_reaches_the_terminal(void **state) {
        (void)state;
        assert_written(plain, "a\\x1b[31mb", screen_text(&s, "a\x1b[31mb"));
        assert_written(plain, "\\n\\t\\r\\x07\\x7f", screen_text(&s, "\n\t\r\a\x7f"));
        assert_written(plain, "\\u{009b}31m", screen_text(&s, "\xc2\x9b" "31m")); /* CSI as a C1 character */
        assert_written(plain, "\\u{202e}txt", screen_text(&s, "\u202etxt"));       /* right-to-left override */
        assert_written(plain, "\\xff\\xc3", screen_text(&s, "\xff\xc3"));
        assert_written(plain, "Grüße, 世界", screen_text(&s, "Grüße, 世界"));
}

static void every_byte_is_either_printable_or_escaped(void **state) {
        (void)state;
        for (unsigned c = 1; c < 256; c++) {
                scoped(buffer_deinit) Buffer out = {};
                Screen s = { .out = &out };

                (void)screen_text(&s, (char[]){ (char)c, '\0' });
                for (size_t i = 0; i < out.n; i++)
                        assert_in_range((unsigned char)out.text[i], 0x20, 0x7e);
        }
}

static void text_is_cut_between_characters_with_an_ellipsis(void **state) {
        size_t n;

        (void)state;
        assert_written(unicode, "abcd", n = screen_text_cut(&s, "abcd", 4); assert_int_equal(n, 4));
        assert_written(unicode, "abc…", n = screen_text_cut(&s, "abcde", 4); assert_int_equal(n, 4));
        assert_written(unicode, "äöü…", n = screen_text_cut(&s, "äöüßé", 4); assert_int_equal(n, 4));
        assert_written(plain, "abc~", n = screen_text_cut(&s, "abcde", 4); assert_int_equal(n, 4));
        /*
         * Wide characters take two columns each, so only one and the ellipsis fit four columns; a combining mark
         * takes none.
         */
        assert_written(unicode, "日本", n = screen_text_cut(&s, "日本", 4); assert_int_equal(n, 4));
        assert_written(unicode, "日…", n = screen_text_cut(&s, "日本語", 4); assert_int_equal(n, 3));
        assert_written(unicode, "a😀", n = screen_text_cut(&s, "a😀", 4); assert_int_equal(n, 3));
        assert_written(unicode, "u\u0308ber", n = screen_text_cut(&s, "u\u0308ber", 4); assert_int_equal(n, 4));
        /* An escape is not split. */
        assert_written(plain, "ab~", n = screen_text_cut(&s, "ab\x1b" "cd", 5); assert_int_equal(n, 3));
}

static void colours_only_where_there_are_some(void **state) {
        (void)state;
        assert_written(plain, "ok", screen_styled(&s, STYLE_GOOD, "ok"));
        assert_written(ascii_color, "\x1b[32mok\x1b[0m", screen_styled(&s, STYLE_GOOD, "ok"));
}

static void bars_show_their_share(void **state) {
        (void)state;
        assert_written(plain, "..........", screen_bar(&s, 0, 10));
        assert_written(plain, "####......", screen_bar(&s, 0.43, 10));
        assert_written(plain, "##########", screen_bar(&s, 1, 10));
        assert_written(plain, "##########", screen_bar(&s, 7, 10));
        assert_written(plain, "..........", screen_bar(&s, -1, 10));
        assert_written(plain, "..........", screen_bar(&s, __builtin_nan(""), 10));
        assert_written(unicode, "█▌··", screen_bar(&s, 0.375, 4));
}

static void a_pipe_is_no_terminal_in_any_environment(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Screen s;
        int fds[2];

        (void)state;
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(setenv("TERM", "xterm-256color", 1), 0);
        assert_int_equal(unsetenv("NO_COLOR"), 0);
        assert_int_equal(unsetenv("COLUMNS"), 0);
        screen_init(&s, &out, fds[1], false);
        assert_false(s.has_color);
        assert_false(s.can_move);
        assert_int_equal(s.width, 80);

        assert_int_equal(setenv("COLUMNS", "132", 1), 0);
        screen_init(&s, &out, fds[1], false);
        assert_int_equal(s.width, 132);
        close(fds[0]);
        close(fds[1]);
}

static void the_locale_decides_about_block_characters(void **state) {
        scoped(buffer_deinit) Buffer out = {};
        Screen s;

        (void)state;
        assert_int_equal(setenv("LANG", "de_DE.UTF-8", 1), 0);
        assert_int_equal(unsetenv("LC_ALL"), 0);
        assert_int_equal(unsetenv("LC_CTYPE"), 0);
        screen_init(&s, &out, STDOUT_FILENO, false);
        assert_true(s.has_unicode);

        assert_int_equal(setenv("LC_ALL", "C", 1), 0);
        screen_init(&s, &out, STDOUT_FILENO, false);
        assert_false(s.has_unicode);
        assert_int_equal(unsetenv("LC_ALL"), 0);
}

#define assert_text(expected, call)                                             \
        do {                                                                    \
                char text[TEXT_MAX];                                            \
                call;                                                           \
                assert_string_equal(text, expected);                            \
        } while (0)

static void durations_have_the_unit_of_their_size(void **state) {
        (void)state;
        assert_text("0 ms", text_duration(0, text));
        assert_text("250 ms", text_duration(250 * NS_PER_MS, text));
        assert_text("1 s", text_duration(NS_PER_S, text));
        assert_text("1.50 s", text_duration(1500 * NS_PER_MS, text));
        assert_text("12.3 s", text_duration(12345 * NS_PER_MS, text));
        assert_text("4 min 05 s", text_duration(245 * NS_PER_S, text));
        assert_text("3 h 02 min", text_duration(3 * 3600 * NS_PER_S + 120 * NS_PER_S, text));
        assert_text("2 d 04 h", text_duration(52 * 3600 * NS_PER_S, text));
}

static void an_invalid_time_is_a_dash(void **state) {
        (void)state;
        assert_text("1.50 s", text_seconds(1.5, text));
        assert_text("-", text_seconds(-1, text));
        assert_text("-", text_seconds(__builtin_nan(""), text));
        assert_text("-", text_seconds(1e30, text));
}

static void numbers_keep_their_leading_digits(void **state) {
        (void)state;
        assert_text("0", text_number(0, text));
        assert_text("42", text_number(42, text));
        assert_text("12.3", text_number(12.345, text));
        assert_text("1.23", text_number(1.2345, text));
        assert_text("0.0123", text_number(0.01234, text));
        assert_text("1234", text_number(1234.4, text));
        assert_text("1.23e-07", text_number(1.234e-7, text));
        assert_text("1.23e+10", text_number(12345678901.5, text));
}

static void measured_numbers_are_written_as_by_a_person(void **state) {
        (void)state;
        assert_text("0", text_figure(0, text));
        assert_text("3.53", text_figure(3.5300000000000002, text));
        assert_text("0.000123457", text_figure(0.0001234567890123456, text));
        assert_text("-9999", text_figure(-9999, text));
        assert_text("12,345.7", text_figure(12345.678, text));
        assert_text("-1,234,568", text_figure(-1234567.8, text));
        assert_text("21,897,600,000", text_figure(2.18976e10, text));
        assert_text("999,999,999,999,999", text_figure(999999999999999, text));
        assert_text("1e+15", text_figure(1e15, text));
        assert_text("1.23457e-05", text_figure(1.2345678e-5, text));
        assert_text("nan", text_figure(NAN, text));
        assert_text("-inf", text_figure(-INFINITY, text));
}

static void assert_folded(const char *text, const char *expected) {
        scoped(buffer_deinit) Buffer out = {};
        Screen screen = { .out = &out, .width = 20 };

        buffer_puts(&out, "what was there is left alone, however long it is\n");
        buffer_puts(&out, text);
        screen_fold(&screen, out.n - strlen(text));
        assert_string_equal(strchr(out.text, '\n') + 1, expected);
}

static void lines_that_are_too_wide_are_broken_at_blanks(void **state) {
        (void)state;
        assert_folded("", "");
        assert_folded("12345678901234567890\n\nx\n", "12345678901234567890\n\nx\n");
        assert_folded("  cpu   one two three four five six\n", "  cpu   one two\n     three four five\n     six\n");
        assert_folded("123456789012345678901234567890\n", "12345678901234567890\n    1234567890\n");
        assert_folded("größe größe größe größe\n", "größe größe größe\n    größe\n");
        assert_folded("\x1b[1m12345678901234567890\x1b[0m\n", "\x1b[1m12345678901234567890\x1b[0m\n");
}

static void energy_is_large_from_a_tenth_of_a_megajoule_on(void **state) {
        (void)state;
        assert_text("0 J", text_joules(0, text));
        assert_text("99949 J", text_joules(99949.4, text));
        assert_text("0.100 MJ", text_joules(99950, text));
        assert_text("262.143 MJ", text_joules(262143328, text));
}

static void bytes_have_the_unit_of_their_size(void **state) {
        (void)state;
        assert_text("0 B", text_mib(0, text));
        assert_text("512 KiB", text_mib(0.5, text));
        assert_text("12.3 MiB", text_mib(12.34, text));
        assert_text("1.50 GiB", text_mib(1536, text));
        assert_text("2.00 TiB", text_mib(2 * 1048576, text));
}

static void json_is_printed_without_the_controls_that_json_allows(void **state) {
        const char json[] = "{\"a\":\"x\xc2\x9b\x7f\u00a0é\"}";

        (void)state;
        assert_written(plain, "{\"a\":\"x\\u009b\\u007f\u00a0é\"}", screen_json(&s, json, strlen(json)));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_control_character_reaches_the_terminal),
                cmocka_unit_test(every_byte_is_either_printable_or_escaped),
                cmocka_unit_test(text_is_cut_between_characters_with_an_ellipsis),
                cmocka_unit_test(colours_only_where_there_are_some),
                cmocka_unit_test(bars_show_their_share),
                cmocka_unit_test(a_pipe_is_no_terminal_in_any_environment),
                cmocka_unit_test(the_locale_decides_about_block_characters),
                cmocka_unit_test(durations_have_the_unit_of_their_size),
                cmocka_unit_test(an_invalid_time_is_a_dash),
                cmocka_unit_test(numbers_keep_their_leading_digits),
                cmocka_unit_test(measured_numbers_are_written_as_by_a_person),
                cmocka_unit_test(lines_that_are_too_wide_are_broken_at_blanks),
                cmocka_unit_test(energy_is_large_from_a_tenth_of_a_megajoule_on),
                cmocka_unit_test(bytes_have_the_unit_of_their_size),
                cmocka_unit_test(json_is_printed_without_the_controls_that_json_allows),
        };

        /* Widths do not depend on the locale of the user. */
        assert_int_equal(setenv("LC_ALL", "C", 1), 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
