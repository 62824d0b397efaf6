/* SPDX-License-Identifier: Apache-2.0 */
#include "client/facts/program_version.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "util/file.h"
#include "util/scoped.h"
#include "util/thread.h"

#define PROGRAM_BYTES_MAX ((off_t)256 << 20) /* a larger file would delay the end of a short run */
#define SEGMENTS_MAX 64U
#define NOTES_BYTES_MAX 4096U
#define CACHE_FILES_MAX 64U
#define CACHE_BYTES_MAX 256U
#define SETTLED_S 2 /* a file may change again within the resolution of its times */

void program_version_deinit(ProgramVersion *version) {
        (void)program_version_get(version);
        closep(&version->fd);
        version->fd = -1;
}

/* --- the build-id --------------------------------------------------------------------------------- */

static size_t align(size_t n) {
        return (n + 3) & ~(size_t)3;
}

static bool find_in_notes(const char *notes, size_t n, char ret[static SHA256_TEXT_MAX]) {
        ElfW(Nhdr) note;

        for (size_t at = 0; at <= n && n - at >= sizeof(note);) {
                size_t n_name, n_desc;

                memcpy(&note, notes + at, sizeof(note));
                at += sizeof(note);
                n_name = align(note.n_namesz);
                n_desc = note.n_descsz;
                if (n_name > n - at || n_desc > n - at - n_name)
                        return false;
                if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
                    memcmp(notes + at, "GNU", sizeof("GNU")) == 0 && n_desc >= 8 && 2 * n_desc < SHA256_TEXT_MAX) {
                        for (size_t i = 0; i < n_desc; i++)
                                (void)snprintf(ret + 2 * i, 3, "%02x", (unsigned char)notes[at + n_name + i]);
                        return true;
                }
                at += n_name + align(n_desc);
        }
        return false;
}

/* Programs of another word size are identified by their digest. */
static bool find_build_id(int fd, char ret[static SHA256_TEXT_MAX]) {
        char notes[NOTES_BYTES_MAX];
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;

        if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
            header.e_phentsize != sizeof(segment))
                return false;
        for (unsigned i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
                if (pread(fd, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))) !=
                    sizeof(segment))
                        return false;
                if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof(notes))
                        continue;
                if (pread(fd, notes, segment.p_filesz, (off_t)segment.p_offset) == (ssize_t)segment.p_filesz &&
                    find_in_notes(notes, segment.p_filesz, ret))
                        return true;
        }
        return false;
}

/* --- the cache ------------------------------------------------------------------------------------ */

static void find_cache(const struct stat *st, char ret[static PATH_MAX]) {
        char below[32];

        (void)snprintf(below, sizeof(below), "perfd/programs/%02u",
                       (unsigned)((st->st_ino ^ st->st_dev) % CACHE_FILES_MAX));
        if (file_find_env("XDG_CACHE_HOME", ".cache", below, ret) < 0)
                ret[0] = '\0';
}

static int format_stamp(const struct stat *st, char ret[static CACHE_BYTES_MAX]) {
        return snprintf(ret, CACHE_BYTES_MAX, "%ju %ju %jd %jd.%09ld %jd.%09ld ", (uintmax_t)st->st_dev,
                        (uintmax_t)st->st_ino, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                        (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

static bool read_cache(const char *path, const struct stat *st, char ret[static SHA256_TEXT_MAX]) {
        scoped(freep) char *text = NULL;
        char stamp[CACHE_BYTES_MAX];
        size_t n = (size_t)format_stamp(st, stamp), n_text;

        if (!path[0] || file_read_at(AT_FDCWD, path, CACHE_BYTES_MAX, &text, &n_text) < 0)
                return false;
        if (n_text != n + SHA256_TEXT_MAX || strncmp(text, stamp, n) != 0 ||
            strspn(text + n, "0123456789abcdef") != SHA256_TEXT_MAX - 1)
                return false;
        (void)snprintf(ret, SHA256_TEXT_MAX, "%.64s", text + n);
        return true;
}

/* Writes nothing for a file that has just been built, or that changed while it was read. */
static void write_cache(const ProgramVersion *version, const struct stat *before) {
        char stamp[CACHE_BYTES_MAX];
        struct stat after;
        int n;

        if (!version->cache[0] || fstat(version->fd, &after) < 0 || time(NULL) - after.st_ctim.tv_sec < SETTLED_S ||
            after.st_mtim.tv_sec != before->st_mtim.tv_sec || after.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
                return;
        n = format_stamp(before, stamp);
        n += snprintf(stamp + n, sizeof(stamp) - (size_t)n, "%s\n", version->text);
        if (file_make_parents(version->cache, 0700) == 0)
                (void)file_replace(version->cache, stamp, (size_t)n, 0600, false);
}

/* --- the digest ----------------------------------------------------------------------------------- */

static void *read_program(void *userdata) {
        ProgramVersion *version = userdata;
        struct stat before;

        if (fstat(version->fd, &before) == 0 && sha256_file(version->fd, version->text) == 0)
                write_cache(version, &before);
        else
                version->text[0] = '\0';
        return NULL;
}

/* Signals are for the other thread, which passes them on to the command. */
void program_version_begin(ProgramVersion *version, const char *program) {
        struct stat st;

        version->fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (version->fd < 0 || fstat(version->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
            find_build_id(version->fd, version->text) || st.st_size > PROGRAM_BYTES_MAX)
                return;
        find_cache(&st, version->cache);
        if (!read_cache(version->cache, &st, version->text))
                version->is_read = thread_start(&version->thread, read_program, version) == 0;
}

const char *program_version_get(ProgramVersion *version) {
        if (version->is_read)
                (void)pthread_join(version->thread, NULL);
        version->is_read = false;
        return version->text[0] ? version->text : NULL;
}
