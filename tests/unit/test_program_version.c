/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of programs: their build-id, else their digest, which is kept until the program changes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/facts/program_version.h"
#include "tests/unit/tree.h"
#include "util/file.h"

static void version_of(const char *path, char ret[static SHA256_TEXT_MAX]) {
        scoped(program_version_deinit) ProgramVersion version = PROGRAM_VERSION_NONE;
        const char *text;

        program_version_begin(&version, path);
        text = program_version_get(&version);
        (void)snprintf(ret, SHA256_TEXT_MAX, "%s", text ?: "");
}

static void write_program(const char *path, const void *bytes, size_t n) {
        assert_int_equal(file_replace(path, bytes, n, 0755, false), 0);
}

typedef struct Program {
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;
        ElfW(Nhdr) note;
        char name[4];
        uint8_t id[20];
} Program;

static Program make_program(void) {
        Program program = {
                .header = { .e_phoff = offsetof(Program, segment), .e_phnum = 1, .e_phentsize = sizeof(ElfW(Phdr)) },
                .segment = { .p_type = PT_NOTE,
                             .p_offset = offsetof(Program, note),
                             .p_filesz = sizeof(ElfW(Nhdr)) + 24 },
                .note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
                .name = "GNU",
                .id = { 0x12, 0x34, 0xab },
        };

        memcpy(program.header.e_ident, ELFMAG, SELFMAG);
        program.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
        return program;
}

static void a_build_id_is_the_version(void **state) {
        char path[PATH_MAX], version[SHA256_TEXT_MAX];
        Program program = make_program();

        (void)snprintf(path, sizeof(path), "%s/program", (const char *)*state);
        write_program(path, &program, sizeof(program));
        version_of(path, version);
        assert_string_equal(version, "1234ab0000000000000000000000000000000000");
}

/* Sizes and places in the file are not trusted. */
static void a_file_that_contradicts_itself_has_a_digest(void **state) {
        Program programs[6];
        char path[PATH_MAX], version[SHA256_TEXT_MAX];

        for (size_t i = 0; i < N_ELEMENTS(programs); i++)
                programs[i] = make_program();
        programs[0].note.n_namesz = UINT32_MAX;
        programs[1].note.n_descsz = UINT32_MAX;
        programs[2].segment.p_filesz = 8;
        programs[3].segment.p_offset = SIZE_MAX / 2;
        programs[4].header.e_phoff = SIZE_MAX / 2;
        programs[5].note.n_descsz = 0;
        (void)snprintf(path, sizeof(path), "%s/program", (const char *)*state);
        for (size_t i = 0; i < N_ELEMENTS(programs); i++) {
                write_program(path, &programs[i], sizeof(programs[i]));
                version_of(path, version);
                assert_int_equal(strlen(version), 64);
        }
}

static void a_digest_is_kept_until_the_program_changes(void **state) {
        const char *directory = *state;
        char path[PATH_MAX], cache[PATH_MAX], version[SHA256_TEXT_MAX], expected[SHA256_TEXT_MAX];
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s/program", directory);
        assert_int_equal(setenv("XDG_CACHE_HOME", directory, 1), 0);
        write_program(path, "one", 3);
        sha256_text("one", 3, expected);
        version_of(path, version);
        assert_string_equal(version, expected);

        /* What another has kept for this state of the file is believed; of any other state, it is not. */
        assert_int_equal(stat(path, &st), 0);
        (void)snprintf(cache, sizeof(cache), "%s/perfd/programs", directory);
        assert_int_equal(file_make_dirs(cache, 0700), 0);
        (void)snprintf(cache, sizeof(cache), "%s/perfd/programs/%02u", directory,
                       (unsigned)((st.st_ino ^ st.st_dev) % 64));
        {
                char text[512];
                int n = snprintf(text, sizeof(text), "%ju %ju %jd %jd.%09ld %jd.%09ld %064d\n", (uintmax_t)st.st_dev,
                                 (uintmax_t)st.st_ino, (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
                                 st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec, 7);

                assert_int_equal(file_replace(cache, text, (size_t)n, 0600, false), 0);
        }
        version_of(path, version);
        assert_string_equal(version + 60, "0007");

        write_program(path, "two", 3);
        sha256_text("two", 3, expected);
        version_of(path, version);
        assert_string_equal(version, expected);
}

static void what_is_no_file_has_no_version(void **state) {
        char version[SHA256_TEXT_MAX];

        version_of(*state, version);
        assert_string_equal(version, "");
        version_of("/nonexistent", version);
        assert_string_equal(version, "");
}

static int make_directory(void **state) {
        static char directory[] = "/tmp/perfd-test-XXXXXX";

        *state = mkdtemp(directory);
        return *state ? 0 : -1;
}

static int remove_directory(void **state) {
        tree_remove(*state);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_build_id_is_the_version),
                cmocka_unit_test(a_file_that_contradicts_itself_has_a_digest),
                cmocka_unit_test(a_digest_is_kept_until_the_program_changes),
                cmocka_unit_test(what_is_no_file_has_no_version),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
