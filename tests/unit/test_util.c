/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "json/json.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/scan.h"
#include "util/utf8.h"

static void a_word_is_found_among_words_only(void **state) {
        (void)state;
        assert_true(parse_has_word("since_ms until_ms limit", "limit", " "));
        assert_true(parse_has_word("a,,b", "b", ","));
        assert_false(parse_has_word("since_ms until_ms", "until", " "));
        assert_false(parse_has_word("a  b", "", " "));
        assert_false(parse_has_word("", "a", " "));
}

static void an_arena_refuses_when_full_and_serves_again_after_reset(void **state) {
        Arena arena = {};

        (void)state;
        assert_int_equal(arena_init(&arena, 4096), 0);
        assert_non_null(arena_alloc(&arena, 4000));
        assert_null(arena_alloc(&arena, 200));
        assert_null(arena_alloc(&arena, SIZE_MAX));
        assert_null(arena_strndup(&arena, "x", SIZE_MAX));
        arena_reset(&arena);
        assert_string_equal(arena_strndup(&arena, "hello world", 5), "hello");
        arena_deinit(&arena);
}

static void arena_memory_is_zero_and_aligned_even_when_used_before(void **state) {
        Arena arena = {};

        (void)state;
        assert_int_equal(arena_init(&arena, 1 << 20), 0);
        memset(arena_alloc(&arena, 1 << 20), 0xff, 1 << 20);
        arena_reset(&arena);
        for (size_t n = 1; n < 100; n++) {
                const char *p = arena_alloc(&arena, n);

                assert_true((uintptr_t)p % 16 == 0);
                for (size_t i = 0; i < n; i++)
                        assert_int_equal(p[i], 0);
        }
        arena_deinit(&arena);
}

static void doubles_are_written_short_and_read_back_the_same(void **state) {
        static const double values[] = {
                0.1, 1.0 / 3, 1e300, 5e-324, 123456789012345678.0, -2.5, 1e15, 99.95, 0.30000000000000004
        };
        Buffer b = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(values); i++) {
                buffer_clear(&b);
                buffer_put_double(&b, values[i]);
                assert_true(strtod(b.text, NULL) == values[i]);
        }

        buffer_clear(&b);
        buffer_put_double(&b, 0.1);
        buffer_putc(&b, ' ');
        buffer_put_double(&b, -17);
        buffer_putc(&b, ' ');
        buffer_put_double(&b, NAN);
        buffer_putc(&b, ' ');
        buffer_put_double(&b, -INFINITY);
        assert_string_equal(b.text, "0.1 -17 NaN -Inf");
        buffer_deinit(&b);
}

/* Formats with the fewest digits for which printf() yields the same number. */
static const char *shortest(double v, char ret[static 32]) {
        int precision = fabs(v) < DBL_MIN ? 0 : 14;

        do
                (void)snprintf(ret, 32, "%.*g", ++precision, v);
        while (precision < 17 && strtod(ret, NULL) != v);
        return ret;
}

static uint64_t next_random(uint64_t *state) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return *state >> 11;
}

/*
 * Returns decimals of various lengths, random doubles of any magnitude, and numbers next to powers of ten and of two.
 */
static double some_double(unsigned i, uint64_t *state) {
        uint64_t digits = next_random(state);
        double v = 0;

        switch (i % 4) {
        case 0:
                v = (double)(digits >> i / 4 % 50) / pow(10, i / 4 % 17);
                break;
        case 1:
                v = ldexp((double)digits, (int)(i / 4 % 66) - 67);
                break;
        case 2:
                v = pow(10, (int)(i / 4 % 21) - 5);
                break;
        case 3:
                v = ldexp(1, (int)(i / 4 % 66) - 15);
                break;
        }

        for (unsigned k = i / 4 % 5; i % 4 > 1 && k > 0; k--)
                v = nextafter(v, digits & 1 ? 0 : INFINITY);
        return digits & 2 ? -v : v;
}

static void a_file_is_read_to_its_end(void **state) {
        char path[] = "/tmp/perfd-read-XXXXXX", written[100000];
        int fd = mkstemp(path);
        Buffer b = {};
        ssize_t n;

        (void)state;
        assert_true(fd >= 0);
        assert_int_equal(unlink(path), 0);
        for (size_t i = 0; i < sizeof(written); i++)
                written[i] = (char)('a' + i % 23);
        assert_int_equal(file_write_all(fd, written, sizeof(written)), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);

        buffer_puts(&b, "before ");
        while ((n = buffer_read(&b, fd)) > 0)
                assert_int_equal(b.text[b.n], '\0');
        assert_int_equal(n, 0);
        assert_int_equal(b.n, strlen("before ") + sizeof(written));
        assert_memory_equal(b.text + strlen("before "), written, sizeof(written));
        assert_int_equal(buffer_read(&b, -1), -EBADF);
        buffer_deinit(&b);

        /* A file with exactly as many bytes as the limit is read; a longer one is refused. */
        for (size_t more = 0; more < 2; more++) {
                assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
                b.n_max = sizeof(written) - more;
                while ((n = buffer_read(&b, fd)) > 0)
                        assert_true(b.n <= b.n_max);
                assert_int_equal(n, more ? -EFBIG : 0);
                assert_int_equal(b.n, b.n_max);
                assert_memory_equal(b.text, written, b.n);
                buffer_deinit(&b);
        }
        close(fd);
}

static void fast_formatting_of_doubles_equals_printf(void **state) {
        scoped(buffer_deinit) Buffer b = {};
        uint64_t random = 1;
        char expected[32];

        (void)state;
        for (unsigned i = 0; i < 200000; i++) {
                double v = some_double(i, &random);

                if (v == floor(v) && fabs(v) < 1e15)
                        (void)snprintf(expected, sizeof(expected), "%.0f", v);
                else
                        (void)shortest(v, expected);
                buffer_clear(&b);
                buffer_put_double(&b, v);
                assert_string_equal(b.text, expected);
                assert_true(strtod(b.text, NULL) == v);
        }
}

static void integers_of_any_length_are_written_as_printf_writes_them(void **state) {
        scoped(buffer_deinit) Buffer b = {};
        uint64_t power = 1;
        char expected[24], written[BUFFER_U64_MAX + 1];

        (void)state;
        for (int i = 0; i < 20; i++, power *= 10)
                for (uint64_t v = power - 1; v != power + 2; v++) {
                        buffer_clear(&b);
                        buffer_put_u64(&b, v);
                        (void)snprintf(expected, sizeof(expected), "%" PRIu64, v);
                        assert_string_equal(b.text, expected);
                        *buffer_write_u64(written, v) = '\0';
                        assert_string_equal(written, expected);
                        buffer_clear(&b);
                        buffer_put_i64(&b, (int64_t)-v);
                        (void)snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)-v);
                        assert_string_equal(b.text, expected);
                }
        buffer_clear(&b);
        buffer_put_u64(&b, UINT64_MAX);
        assert_string_equal(b.text, "18446744073709551615");
        *buffer_write_u64(written, UINT64_MAX) = '\0';
        assert_string_equal(written, "18446744073709551615");
        buffer_clear(&b);
        buffer_put_i64(&b, INT64_MIN);
        assert_string_equal(b.text, "-9223372036854775808");
}

static void decimals_have_no_zeros_at_their_end(void **state) {
        scoped(buffer_deinit) Buffer b = {};

        (void)state;
        buffer_put_decimal(&b, 1500, 3);
        buffer_putc(&b, ' ');
        buffer_put_decimal(&b, 0, 9);
        buffer_putc(&b, ' ');
        buffer_put_decimal(&b, 50, 0);
        buffer_putc(&b, ' ');
        buffer_put_decimal(&b, UINT64_MAX, 18);
        buffer_putc(&b, ' ');
        buffer_put_decimal(&b, 7, 18);
        assert_string_equal(b.text, "1.5 0 50 18.446744073709551615 0.000000000000000007");
}

static void json_is_separated_escaped_and_typed(void **state) {
        Buffer b = {};
        Json json = { .out = &b };

        (void)state;
        json_object_begin(&json);
        json_put_string(&json, "a\"b", "line\n\x01 \xc3\xa9");
        json_put_int(&json, "min", INT64_MIN);
        json_put_double(&json, "whole", 2);
        json_put_double(&json, "negative_zero", -0.0);
        json_put_double(&json, "nan", NAN);
        json_key(&json, "list");
        json_array_begin(&json);
        json_bool(&json, true);
        json_array_begin(&json);
        json_array_end(&json);
        json_null(&json);
        json_array_end(&json);
        json_object_end(&json);

        assert_string_equal(b.text,
                            "{\"a\\\"b\":\"line\\n\\u0001 \xc3\xa9\",\"min\":-9223372036854775808,\"whole\":2.0,"
                            "\"negative_zero\":-0.0,\"nan\":null,\"list\":[true,[],null]}");
        buffer_deinit(&b);
}

static void json_replaces_invalid_utf8(void **state) {
        static const char *const broken[] = { "\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf5\x80\x80\x80" };
        Buffer b = {};

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(broken); i++) {
                Json json = { .out = &b };

                buffer_clear(&b);
                json_string(&json, broken[i]);
                assert_memory_equal(b.text, "\"\xef\xbf\xbd", 4);
        }
        buffer_deinit(&b);
}

static void json_escapes_terminal_control_characters(void **state) {
        Buffer b = {};
        Json json = { .out = &b };

        (void)state;
        json_string(&json, "\x1b[2J \xc2\x9b \xe2\x80\xae \x7f \xc3\xa4 \xf0\x9f\x98\x80");
        assert_string_equal(b.text, "\"\\u001b[2J \\u009b \\u202e \\u007f \xc3\xa4 \xf0\x9f\x98\x80\"");
        buffer_deinit(&b);
}

static void text_quoted_for_a_terminal_is_escaped(void **state) {
        static const struct {
                const char *text, *safe;
                size_t n;
        } cases[] = {
                { "a", "a", 1 },           { "\n", "\\n", 1 },         { "\x1b[2J", "\\x1b", 1 },        { "\x7f", "\\x7f", 1 },
                { "\xff", "\\xff", 1 },    { "\xc3\xa4", "\xc3\xa4", 2 }, { "\xc2\x9b", "\\u{009b}", 2 }, { "\xe2\x80\xae", "\\u{202e}", 3 },
                { "\xe2\x80", "\\xe2", 1 },
        };
        char safe[UTF8_SAFE_MAX];

        (void)state;
        for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
                assert_int_equal(utf8_make_safe(cases[i].text, strlen(cases[i].text), safe), cases[i].n);
                assert_string_equal(safe, cases[i].safe);
        }
}

static void numbers_in_kernel_files_do_not_overflow_silently(void **state) {
        uint64_t v;

        (void)state;
        assert_string_equal(scan_u64("  18446744073709551615 x", &v), " x");
        assert_true(v == UINT64_MAX);
        assert_null(scan_u64("18446744073709551616", &v));
        assert_null(scan_u64("-1", &v));
        assert_null(scan_u64("", &v));
}

static void durations_and_sizes_are_read_as_people_write_them(void **state) {
        uint64_t v;
        uint8_t bytes[3];

        (void)state;
        assert_int_equal(parse_duration_ns("250ms", &v), 0);
        assert_int_equal(v, 250000000);
        assert_int_equal(parse_duration_ns("1.5 s", &v), 0);
        assert_int_equal(v, 1500000000);
        assert_int_equal(parse_duration_ns("90d", &v), 0);
        assert_true(v == UINT64_C(7776000) * NS_PER_S);
        assert_int_equal(parse_duration_ns("7", &v), 0);
        assert_int_equal(v, 7 * NS_PER_S);
        assert_int_equal(parse_size("64K", &v), 0);
        assert_int_equal(v, 65536);
        assert_int_equal(parse_size("1.5GiB", &v), 0);
        assert_true(v == UINT64_C(1610612736));
        assert_int_equal(parse_size("64Ki", &v), 0);
        assert_int_equal(v, 65536);

        assert_int_equal(parse_size("10000000T", &v), 0);
        assert_true(v == UINT64_C(10000000) << 40);

        assert_int_equal(parse_duration_ns("", &v), PARSE_MALFORMED);
        assert_int_equal(parse_duration_ns("5 parsecs", &v), PARSE_MALFORMED);
        assert_int_equal(parse_duration_ns("-1s", &v), PARSE_MALFORMED);
        assert_int_equal(parse_duration_ns("1..5s", &v), PARSE_MALFORMED);
        assert_int_equal(parse_duration_ns("999999999999999d", &v), PARSE_OUT_OF_RANGE);
        assert_int_equal(parse_size("12Q", &v), PARSE_MALFORMED);
        assert_int_equal(parse_hex("00ff1a", bytes, 3), 0);
        assert_memory_equal(bytes, "\x00\xff\x1a", 3);
        assert_int_equal(parse_hex("00ff1A", bytes, 3), PARSE_MALFORMED);
        assert_int_equal(parse_hex("00ff1", bytes, 3), PARSE_MALFORMED);
        assert_int_equal(parse_hex("00ff1a0", bytes, 3), PARSE_MALFORMED);
}

static void words_that_are_not_numbers_are_refused(void **state) {
        uint64_t u;
        double d;
        bool b;

        (void)state;
        assert_int_equal(parse_u64("12x", &u), PARSE_MALFORMED);
        assert_int_equal(parse_u64(" 12", &u), PARSE_MALFORMED);
        assert_int_equal(parse_u64("99999999999999999999", &u), PARSE_OUT_OF_RANGE);
        assert_int_equal(parse_double("0x10", &d), PARSE_MALFORMED);
        assert_int_equal(parse_double("inf", &d), PARSE_MALFORMED);
        assert_int_equal(parse_double("1e999", &d), PARSE_OUT_OF_RANGE);
        assert_int_equal(parse_bool("maybe", &b), PARSE_MALFORMED);
        assert_int_equal(parse_bool("On", &b), 0);
        assert_true(b);
}

static void a_replaced_file_is_complete_without_leftovers(void **state) {
        char directory[] = "/tmp/perfd-test-XXXXXX", path[64], deep[96];
        scoped(freep) char *text = NULL;
        struct stat st;

        (void)state;
        assert_non_null(mkdtemp(directory));
        (void)snprintf(path, sizeof(path), "%s/f", directory);
        assert_int_equal(file_replace(path, "first", 5, 0600, true), 0);
        assert_int_equal(file_replace(path, "second", 6, 0600, false), 0);
        assert_int_equal(file_read_at(AT_FDCWD, path, 100, &text, NULL), 0);
        assert_string_equal(text, "second");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(unlink(path), 0);

        (void)snprintf(deep, sizeof(deep), "%s/a/b", directory);
        assert_int_equal(file_make_dirs(deep, 0755), 0);
        assert_int_equal(file_make_dirs(deep, 0755), 0);
        strcat(deep, "/d/file");
        assert_int_equal(file_make_parents(deep, 0755), 0);
        assert_int_equal(access(deep, F_OK), -1);
        *strrchr(deep, '/') = '\0';
        assert_int_equal(rmdir(deep), 0);
        *strrchr(deep, '/') = '\0';
        assert_int_equal(file_make_parents("file", 0755), 0);
        assert_int_equal(rmdir(deep), 0);
        *strrchr(deep, '/') = '\0';
        assert_int_equal(rmdir(deep), 0);
        assert_int_equal(rmdir(directory), 0);
}

static void files_of_a_user_are_found_by_the_environment(void **state) {
        char path[PATH_MAX];

        (void)state;
        assert_int_equal(setenv("HOME", "/home/ada", 1), 0);
        assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
        assert_int_equal(file_find_env("XDG_CACHE_HOME", ".cache", "perfd/x", path), 0);
        assert_string_equal(path, "/home/ada/.cache/perfd/x");
        assert_int_equal(setenv("XDG_CACHE_HOME", "/cache", 1), 0);
        assert_int_equal(file_find_env("XDG_CACHE_HOME", ".cache", "perfd/x", path), 0);
        assert_string_equal(path, "/cache/perfd/x");
        assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
        assert_int_equal(setenv("HOME", "", 1), 0);
        assert_int_equal(file_find_env("XDG_CACHE_HOME", ".cache", "perfd/x", path), -ENOENT);
        assert_string_equal(file_below_root("//usr/lib"), "usr/lib");
        assert_string_equal(file_below_root("/"), ".");
}

static void a_file_beyond_the_limit_is_refused(void **state) {
        scoped(freep) char *text = NULL;

        (void)state;
        assert_int_equal(file_read_at(AT_FDCWD, "/proc/self/smaps", 10, &text, NULL), -EFBIG);
        assert_null(text);
        assert_int_equal(file_read_at(AT_FDCWD, "/nonexistent", 10, &text, NULL), -ENOENT);
}

static void encoded_text_has_no_special_characters_of_a_url(void **state) {
        scoped(buffer_deinit) Buffer b = {};

        (void)state;
        buffer_put_encoded(&b, "");
        buffer_put_encoded(&b, "a-Z_0.9~");
        buffer_put_encoded(&b, "/?&=#+% \n@[\xc3\xa4:,");
        assert_string_equal(b.text, "a-Z_0.9~%2F%3F%26%3D%23%2B%25%20%0A%40%5B%C3%A4%3A%2C");
}

/* Runs in a child; the exit status is 0 if exactly the descriptors in `open`, out of 3 to 9, are open. */
static int status_with_only(int a, int b, const char *open) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                bool is_good = true;

                for (int fd = 3; fd < 10; fd++)
                        (void)dup2(STDIN_FILENO, fd);
                file_close_others(a, b);
                for (int fd = 0; fd < 10; fd++)
                        is_good &= (fcntl(fd, F_GETFD) >= 0) == (fd < 3 || strchr(open, '0' + fd));
                _exit(!is_good);
        }

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void all_descriptors_are_closed_but_two(void **state) {
        (void)state;
        assert_int_equal(status_with_only(5, 8, "58"), 0);
        assert_int_equal(status_with_only(8, 5, "58"), 0);
        assert_int_equal(status_with_only(3, 4, "34"), 0);
        assert_int_equal(status_with_only(3, 9, "39"), 0);
        assert_int_equal(status_with_only(7, -1, "7"), 0);
        assert_int_equal(status_with_only(6, 6, "6"), 0);
        assert_int_equal(status_with_only(-1, -1, ""), 0);
}

static void times_are_written_in_utc(void **state) {
        char text[CLOCK_TEXT_MAX];

        (void)state;
        clock_format_utc(UINT64_C(1700000000123) * NS_PER_MS, text);
        assert_string_equal(text, "2023-11-14T22:13:20.123Z");
}

static void assert_time(const char *text, uint64_t expected_ns) {
        uint64_t ns = 0;

        if (clock_parse_utc(text, &ns) != 0)
                fail_msg("'%s' was refused", text);
        if (ns != expected_ns)
                fail_msg("'%s' is %ju", text, (uintmax_t)ns);
}

static void times_with_and_without_a_zone_are_read(void **state) {
        static const char *const wrong[] = { "",
                                             "2020",
                                             "2020-08-18",
                                             "2020-02-30T00:00:00",
                                             "2020-08-18T24:00:00",
                                             "2020-13-01T00:00:00",
                                             "1969-12-31T23:59:59",
                                             "2020-08-18T16:33:32.",
                                             "2020-08-18T16:33:32+2",
                                             "2020-08-18T16:33:32Zx",
                                             "2020-8-18T16:33:32",
                                             "9999-01-01T00:00:00",
                                             "1970-01-01T00:00:00+01:00" };
        uint64_t ns;

        (void)state;
        assert_time("2023-11-14T22:13:20", UINT64_C(1700000000) * NS_PER_S);
        assert_time("2023-11-14 22:13:20Z", UINT64_C(1700000000) * NS_PER_S);
        assert_time("2023-11-14T22:13:20.052043", UINT64_C(1700000000052043) * NS_PER_US);
        assert_time("2023-11-14T22:13:20.1234567891Z", UINT64_C(1700000000123456789));
        assert_time("2023-11-15T00:13:20+02:00", UINT64_C(1700000000) * NS_PER_S);
        assert_time("2023-11-14T21:43:20-00:30", UINT64_C(1700000000) * NS_PER_S);
        assert_time("1970-01-01T00:00:00Z", 0);
        for (size_t i = 0; i < N_ELEMENTS(wrong); i++)
                if (clock_parse_utc(wrong[i], &ns) != CLOCK_MALFORMED)
                        fail_msg("'%s' was not refused", wrong[i]);
}

static void an_array_grows_and_keeps_its_items(void **state) {
        scoped(freep) int *items = NULL;
        size_t n_allocated = 0;

        (void)state;
        assert_int_equal(ARRAY_RESERVE(items, n_allocated, 0), 0);
        assert_null(items);
        for (int i = 0; i < 1000; i++) {
                assert_int_equal(ARRAY_RESERVE(items, n_allocated, (size_t)i + 1), 0);
                assert_true(n_allocated > (size_t)i);
                items[i] = i;
        }
        for (int i = 0; i < 1000; i++)
                assert_int_equal(items[i], i);
        assert_int_equal(ARRAY_RESERVE(items, n_allocated, SIZE_MAX / 4), -ENOMEM);
        assert_int_equal(items[999], 999);
}

static void a_log_limit_holds_back_and_counts(void **state) {
        LogLimit limit = {};
        unsigned n = 0;

        (void)state;
        for (unsigned i = 0; i < 10; i++)
                n += (unsigned)log_limit_pass(&limit, 100 + i, 1000, 3);
        assert_int_equal(n, 3);
        assert_int_equal(limit.n_suppressed, 7);
        assert_int_equal(log_limit_pass(&limit, 1200, 1000, 3), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_word_is_found_among_words_only),
                cmocka_unit_test(an_arena_refuses_when_full_and_serves_again_after_reset),
                cmocka_unit_test(arena_memory_is_zero_and_aligned_even_when_used_before),
                cmocka_unit_test(doubles_are_written_short_and_read_back_the_same),
                cmocka_unit_test(a_file_is_read_to_its_end),
                cmocka_unit_test(fast_formatting_of_doubles_equals_printf),
                cmocka_unit_test(integers_of_any_length_are_written_as_printf_writes_them),
                cmocka_unit_test(decimals_have_no_zeros_at_their_end),
                cmocka_unit_test(json_is_separated_escaped_and_typed),
                cmocka_unit_test(json_replaces_invalid_utf8),
                cmocka_unit_test(json_escapes_terminal_control_characters),
                cmocka_unit_test(text_quoted_for_a_terminal_is_escaped),
                cmocka_unit_test(numbers_in_kernel_files_do_not_overflow_silently),
                cmocka_unit_test(durations_and_sizes_are_read_as_people_write_them),
                cmocka_unit_test(words_that_are_not_numbers_are_refused),
                cmocka_unit_test(a_replaced_file_is_complete_without_leftovers),
                cmocka_unit_test(files_of_a_user_are_found_by_the_environment),
                cmocka_unit_test(a_file_beyond_the_limit_is_refused),
                cmocka_unit_test(encoded_text_has_no_special_characters_of_a_url),
                cmocka_unit_test(all_descriptors_are_closed_but_two),
                cmocka_unit_test(times_are_written_in_utc),
                cmocka_unit_test(times_with_and_without_a_zone_are_read),
                cmocka_unit_test(an_array_grows_and_keeps_its_items),
                cmocka_unit_test(a_log_limit_holds_back_and_counts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
