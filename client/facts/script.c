/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/script.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/scan.h"

static bool is_file(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool script_find_program(const char *name, const char *path, char ret[static PATH_MAX]) {
        if (strchr(name, '/'))
                return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX && is_file(ret);

        for (const char *p = path; *p; p += strcspn(p, ":"), p += *p == ':')
                if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)strcspn(p, ":"), p, name) < PATH_MAX && is_file(ret) &&
                    access(ret, X_OK) == 0)
                        return true;
        return false;
}

static bool begins_as_script(const char *path) {
        scoped(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        char first[2];

        return fd >= 0 && read(fd, first, sizeof(first)) == sizeof(first) && first[0] == '#' && first[1] == '!';
}

/* Returns the first word after #!, or the program that env(1) searches, after its options. */
static void take_interpreter(const char *line, char ret[static INTERPRETER_MAX]) {
        const char *end = line + strcspn(line, "\n"), *word = line;
        bool has_env = false;

        ret[0] = '\0';
        for (word = scan_blanks(word); word < end; word = scan_blanks(word)) {
                size_t n = strcspn(word, " \t\r\n");

                if (!has_env && n >= 4 && memcmp(word + n - 4, "/env", 4) == 0)
                        has_env = true;
                else if (!has_env || (*word != '-' && !memchr(word, '=', n))) {
                        if (n < INTERPRETER_MAX)
                                (void)snprintf(ret, INTERPRETER_MAX, "%.*s", (int)n, word);
                        return;
                }
                word += n;
                if (*word == '\r')
                        return;
        }
}

/* python3.11 is python */
bool script_is_interpreter(const char *program) {
        static const char *const names[] = { "python", "pypy",    "sh",    "bash", "dash", "zsh", "ksh",   "perl",
                                             "ruby",   "Rscript", "julia", "node", "lua",  "php", "tclsh", "octave" };
        const char *base = basename(program);
        size_t n = strcspn(base, "0123456789.");

        if (base[n + strspn(base + n, "0123456789.")] != '\0')
                return false;
        for (size_t i = 0; i < N_ELEMENTS(names); i++)
                if (strlen(names[i]) == n && memcmp(base, names[i], n) == 0)
                        return true;
        return false;
}

/*
 * Returns the first word that is not an option. Interpreters differ in the options that take an argument: if the
 * word is not a file, there is no script. The arguments of -c, -m and -e are not files.
 */
static const char *find_argument(char *const *words) {
        for (; *words; words++) {
                if (strcmp(*words, "-c") == 0 || strcmp(*words, "-m") == 0 || strcmp(*words, "-e") == 0)
                        return NULL;
                if ((*words)[0] != '-')
                        return is_file(*words) ? *words : NULL;
        }
        return NULL;
}

/* An interpreter may itself be a script that finds the real one, as those of pyenv are: its argument counts before
 * it. */
bool script_find(char *const *command, const char *path, Script *ret) {
        scoped(freep) char *text = NULL;
        char program[PATH_MAX];
        const char *file;
        size_t n;

        if (!script_find_program(command[0], path, program))
                return false;
        file = script_is_interpreter(command[0]) ? find_argument(command + 1) : NULL;
        if (!file && begins_as_script(program))
                file = program;
        if (!file || !realpath(file, ret->origin) || file_read_at(AT_FDCWD, file, SCRIPT_BYTES_MAX, &text, &n) < 0)
                return false;

        sha256_text(text, n, ret->sha256);
        if (file == program && n >= 2)
                take_interpreter(text + 2, ret->interpreter);
        else
                (void)snprintf(ret->interpreter, INTERPRETER_MAX, "%s",
                               strlen(command[0]) < INTERPRETER_MAX ? command[0] : "");
        return true;
}

void script_base_name(const char *file, char *ret, size_t n_ret) {
        const char *base = basename(file), *dot = strrchr(base, '.');
        int n = dot && dot > base ? (int)(dot - base) : (int)strlen(base);

        (void)snprintf(ret, n_ret, "%.*s", n, base);
}
