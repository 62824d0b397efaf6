/* SPDX-License-Identifier: Apache-2.0 */
/* Lock files of each form, and files that are cut, wrong or too large. */
/* tests: client/stack/lock_file.c client/stack/stack_builder.c */

#include "client/stack/lock_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "stack/stack.h"
#include "util/file.h"
#include "util/scoped.h"

#define LOCKS "tests/data/locks/"
#define HASH_SHOWN 16
#define FILE_MAX 65536U

/* Reads a file, and its complaint if it is refused; "" without one. */
static int read_file(const char *file, Arena *arena, const Value **ret, char ret_error[static 1024]) {
        scoped(closep) int capture = memfd_create("messages", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
        ssize_t n;
        int r;

        assert_true(capture >= 0 && kept >= 0 && dup2(capture, STDERR_FILENO) >= 0);
        r = lock_file_read(file, arena, ret);
        assert_true(dup2(kept, STDERR_FILENO) >= 0);
        n = pread(capture, ret_error, 1023, 0);
        assert_true(n >= 0);
        ret_error[n] = '\0';
        return r;
}

/* Reads a text of n bytes. */
static int read_text(const char *text, size_t n, Arena *arena, const Value **ret, char ret_error[static 1024]) {
        scoped(closep) int fd = memfd_create("lock", MFD_CLOEXEC);
        char file[64];

        assert_true(fd >= 0);
        assert_int_equal(file_write_all(fd, text, n), 0);
        (void)snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
        return read_file(file, arena, ret, ret_error);
}

static const char *or_dash(const char *text) {
        return text ?: "-";
}

/* Writes what perfd makes of the document: the facts, and a line for each package. */
static void put_stack(const Value *document, Buffer *out) {
        scoped(arena_deinit) Arena arena = {};
        Complaint complaint;
        Stack stack;

        assert_int_equal(arena_init(&arena, 16 << 20), 0);
        assert_int_equal(stack_from_value(document, &arena, &stack, &complaint), 0);
        buffer_printf(out, "%s python %s\n", or_dash(stack.package_manager), or_dash(stack.python.version));
        for (size_t i = 0; i < stack.n_packages; i++) {
                const StackPackage *package = &stack.packages[i];

                buffer_printf(out, "%s %s %s %s %.*s %s\n", package->kind, package->name, or_dash(package->version),
                              or_dash(package->source), HASH_SHOWN, or_dash(package->hash), or_dash(package->build));
        }
        assert_int_equal(buffer_error(out), 0);
}

static void assert_packages(const char *name, const char *expected) {
        scoped(arena_deinit) Arena arena = {};
        scoped(buffer_deinit) Buffer text = {};
        const Value *document;
        char path[256], error[1024];

        (void)snprintf(path, sizeof(path), LOCKS "%s", name);
        if (read_file(path, &arena, &document, error) != 0)
                fail_msg("%s: %s", name, error);
        assert_string_equal(error, "");
        put_stack(document, &text);
        assert_string_equal(text.text, expected);
}

/* --- forms ----------------------------------------------------------------------------------------- */

static void a_lock_file_of_pipenv_names_the_index_of_each_package(void **state) {
        (void)state;
        assert_packages("Pipfile.lock",
                        "pipenv python 3.8\n"
                        "python absl-py 0.9.0 https://pypi.org/simple sha256s:1b7047ba -\n"
                        "python local-tool - - - -\n"
                        "python tensorflow 2.1.0 https://index.example.org/avx2/simple sha256:cebea885e -\n");
}

static void requirements_have_hashes_markers_and_addresses(void **state) {
        (void)state;
        assert_packages("requirements.txt",
                        "pip python -\n"
                        "python absl-py 2.1.0 https://pypi.org/simple sha256s:1b7047ba -\n"
                        "python local-wheel - https://files.example.org/local_wheel-1.0-py3-none-any.whl#sha256="
                        "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91 - -\n"
                        "python numpy 1.26.4 https://pypi.org/simple sha256:73dd0baf8 -\n"
                        "python typing-extensions 4.9.0 https://pypi.org/simple - -\n");
}

static void files_of_conda_have_builds_and_channels(void **state) {
        (void)state;
        assert_packages("explicit.txt",
                        "conda python -\n"
                        "conda _libgcc_mutex 0.1 https://conda.example.org/conda-forge/linux-64 d7c89558ba9fa049 "
                        "conda_forge\n"
                        "conda ca-certificates 2024.2.2 https://conda.example.org/conda-forge/linux-64 "
                        "2f4327a1cbe7f022 hbcca054_0\n"
                        "conda tzdata 2024a https://conda.example.org/conda-forge/noarch - h0c530f3_0\n");
        assert_packages("list.json",
                        "conda python -\n"
                        "conda numpy 1.26.4 conda-forge - py311h64a7726_0\n"
                        "python torch 2.2.0 pypi - -\n");
}

static void a_stack_document_is_taken_as_it_is(void **state) {
        (void)state;
        assert_packages("stack.json",
                        "- python -\n"
                        "dpkg bash 5.2.15-2+b2 - - -\n"
                        "python numpy 1.26.4 - - -\n");
}

/* --- other spellings ------------------------------------------------------------------------------- */

static void spellings_of_one_file_are_one_stack(void **state) {
        static const char *const texts[] = {
                "numpy==1.26.4\n", "numpy==1.26.4", "\xef\xbb\xbfnumpy==1.26.4\r\n", "\tNumPy == 1.26.4 # why\n\n",
                "numpy[all]===1.26.4;python_version>'3'\n", "--no-binary :all:\nnumpy==1.26.4\n",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                scoped(arena_deinit) Arena arena = {};
                scoped(buffer_deinit) Buffer text = {};
                const Value *document;
                char error[1024];

                if (read_text(texts[i], strlen(texts[i]), &arena, &document, error) != 0)
                        fail_msg("%s: %s", texts[i], error);
                put_stack(document, &text);
                assert_string_equal(text.text, "pip python -\npython numpy 1.26.4 - - -\n");
        }
}

/* --- wrong files ----------------------------------------------------------------------------------- */

#define URL "https://c/linux-64/"

static const struct {
        const char *text, *words; /* after the name of the file */
} wrong_files[] = {
        { "", ": names no package (read as requirements.txt)" },
        { "# only\n-r other.txt\n", ": names no package (read as requirements.txt)" },
        { "a==1\nb\xe9==2\n", ":2: is not UTF-8: convert the file" },
        { "a==\n", ":1: 'a' has no version after ==" },
        { "a==1\n./b.whl\n", ":2: './b.whl' is not a requirement: expected NAME==VERSION" },
        { "a==1\nb==2 \\\n", ":2: the file ends within the requirement of 'b'" },
        { "num-py==1\nscipy==2\nNum.Py==3\n", ":3: packages has 'num-py' (python) twice" },
        { "numpy==1\nNumPy==3\n", ":2: packages has 'numpy' (python) twice, with versions 1 and 3" },
        { "# poetry\n\n[[package]]\nname = \"a\"\n", ":3: '[[package]]' is not a requirement: expected NAME==VERSION, as `pip freeze`" },
        { "version = 1\n[[package]]\n", ":2: '[[package]]' is not a requirement" },
        { "@EXPLICIT\nnumpy\n", ":2: 'numpy' is not the URL of a conda package" },
        { "@EXPLICIT\n" URL "a-1.conda\n", ":2: '" URL "a-1.conda' is not the URL of a conda package" },
        { "@EXPLICIT\n" URL "a-1-0\n", ":2: '" URL "a-1-0' is not the URL of a conda package" },
        { "{\"_meta\":{},\"default\":[]}", ":1: default: expected an object of packages" },
        { "{\"_meta\":{},\"default\":{", ":1:" },
        { "{\"_meta\":{},\"default\":{}}", ": names no package (read as Pipfile.lock)" },
        { "{}", ": is not a list of packages: expected Pipfile.lock, conda list --json" },
        { "[{\"version\":\"1\"}]", ": item 0 has no name: expected the output of `conda list --json`" },
        { "[1]", ": item 0 has no name" },
        { "version: 1\npackage:\n- {version: '1'}\n", ":1: 'version: 1' is not a requirement" },
        { "{\"packages\":[{\"name\":\"a\",\"colour\":\"red\"}]}", ": packages[0] has the unknown member 'colour'" },
        { "{\"packages\":[{\"name\":\"a\",\"version\":1}]}", ": packages[0].version is an integer, must be a string" },
};

static void a_wrong_file_is_refused_with_its_place(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(wrong_files) / sizeof(wrong_files[0]); i++) {
                const char *text = wrong_files[i].text;
                scoped(arena_deinit) Arena arena = {};
                const Value *document;
                char error[1024];

                assert_int_equal(read_text(text, strlen(text), &arena, &document, error), LOCK_FILE_WRONG);
                if (!strstr(error, wrong_files[i].words))
                        fail_msg("%s\n%s", text, error);
        }
}

static void a_file_that_is_not_there_and_a_nul_are_refused(void **state) {
        scoped(arena_deinit) Arena arena = {}, other = {};
        const Value *document;
        char error[1024];

        (void)state;
        assert_int_equal(read_file(LOCKS "absent", &arena, &document, error), LOCK_FILE_WRONG);
        assert_string_equal(error, "perfctl: cannot read " LOCKS "absent: No such file or directory\n");
        assert_int_equal(read_text("a==1\nb\0==2\n", 11, &other, &document, error), LOCK_FILE_WRONG);
        assert_non_null(strstr(error, ":2: has a NUL byte"));
}

static void the_limit_of_packages_is_that_of_a_stack(void **state) {
        scoped(arena_deinit) Arena arena = {}, other = {};
        scoped(buffer_deinit) Buffer text = {};
        const Value *document;
        char error[1024];

        (void)state;
        for (unsigned i = 0; i < STACK_PACKAGES_MAX; i++)
                buffer_printf(&text, "p%u==1\n", i);
        assert_int_equal(read_text(text.text, text.n, &arena, &document, error), 0);
        assert_int_equal(value_get(document, "packages")->n_items, STACK_PACKAGES_MAX);
        buffer_puts(&text, "one-more==1\n");
        assert_int_equal(read_text(text.text, text.n, &other, &document, error), LOCK_FILE_WRONG);
        assert_non_null(strstr(error, ":50001: has more than 50000 packages"));
}

/* Each prefix of a file is refused with a message, or is a stack. */
static void a_file_that_is_cut_anywhere_is_refused_or_read(void **state) {
        static const char *const names[] = { "Pipfile.lock", "requirements.txt", "explicit.txt",
                                             "list.json", "stack.json" };
        size_t n_refused = 0;

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                scoped(freep) char *text = NULL;
                char path[256], error[1024];
                size_t n_all;

                (void)snprintf(path, sizeof(path), LOCKS "%s", names[i]);
                assert_int_equal(file_read_at(AT_FDCWD, path, FILE_MAX, &text, &n_all), 0);
                for (size_t n = 0; n < n_all; n += 5) {
                        scoped(arena_deinit) Arena arena = {};
                        scoped(buffer_deinit) Buffer form = {};
                        const Value *document;
                        int r = read_text(text, n, &arena, &document, error);

                        assert_true(r == 0 || r == LOCK_FILE_WRONG);
                        assert_true((r == 0) == (error[0] == '\0'));
                        if (r == 0)
                                put_stack(document, &form);
                        n_refused += r != 0;
                }
        }
        assert_true(n_refused > 500);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_lock_file_of_pipenv_names_the_index_of_each_package),
                cmocka_unit_test(requirements_have_hashes_markers_and_addresses),
                cmocka_unit_test(files_of_conda_have_builds_and_channels),
                cmocka_unit_test(a_stack_document_is_taken_as_it_is),
                cmocka_unit_test(spellings_of_one_file_are_one_stack),
                cmocka_unit_test(a_wrong_file_is_refused_with_its_place),
                cmocka_unit_test(a_file_that_is_not_there_and_a_nul_are_refused),
                cmocka_unit_test(the_limit_of_packages_is_that_of_a_stack),
                cmocka_unit_test(a_file_that_is_cut_anywhere_is_refused_or_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
