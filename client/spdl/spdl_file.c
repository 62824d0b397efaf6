/* SPDX-License-Identifier: Apache-2.0 */
#include "client/spdl/spdl_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/input.h"
#include "client/spdl/spdl_export.h"
#include "client/spdl/spdl_log.h"

#define DATABASE_HEADER "SQLite format 3" /* and a NUL */

void spdl_file_deinit(SpdlFile *file) {
        file->database = spdl_database_free(file->database);
        spdl_table_deinit(&file->table);
}

static bool is_database(const char *text, size_t n) {
        return n >= sizeof(DATABASE_HEADER) && memcmp(text, DATABASE_HEADER, sizeof(DATABASE_HEADER)) == 0;
}

/* An export begins with the brace of an object. */
static bool is_export(const Buffer *text) {
        size_t n = 0;

        while (n < text->n && strchr(" \t\r\n", text->text[n]))
                n++;
        return n < text->n && text->text[n] == '{';
}

__attribute__((format(printf, 2, 3))) static int refuse(char error[static SPDL_FILE_ERROR_MAX], const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void)vsnprintf(error, SPDL_FILE_ERROR_MAX, format, args);
        va_end(args);
        return SPDL_FILE_INVALID;
}

static int read_table(SpdlTable *table, int fd, const SpdlFileOptions *options, char ret_error[static SPDL_FILE_ERROR_MAX]) {
        scoped(buffer_deinit) Buffer text = {};
        int r;

        r = input_read_fd(fd, &text);
        if (r == -EFBIG)
                return refuse(ret_error, "has more than %u MiB: pass only SPDL's lines through standard input, for example from grep -E "
                                         "'Completed|Processed'", INPUT_BYTES_MAX >> 20);
        if (r < 0)
                return r == -ENOMEM ? r : refuse(ret_error, "%s", strerrordesc_np(-r));
        if (is_database(text.text ?: "", text.n))
                return refuse(ret_error, "a database must be a regular file, not a pipe");
        r = (is_export(&text) ? spdl_export_read : spdl_log_read)(table, &text, ret_error);
        if (r == 0 && (options->needs_times || spdl_table_has_times(table)))
                r = spdl_table_order(table, options->begin_s, ret_error);
        return r == SPDL_TABLE_INVALID ? SPDL_FILE_INVALID : r;
}

int spdl_file_open(SpdlFile *file, const char *path, const SpdlFileOptions *options, char ret_error[static SPDL_FILE_ERROR_MAX]) {
        bool is_standard = strcmp(path, "-") == 0;
        scoped(closep) int opened = is_standard ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        char header[sizeof(DATABASE_HEADER)];
        int r;

        if (!is_standard && opened < 0)
                return refuse(ret_error, "%s", strerrordesc_np(errno));
        if (is_standard || pread(opened, header, sizeof(header), 0) != sizeof(header) || !is_database(header, sizeof(header)))
                return read_table(&file->table, is_standard ? STDIN_FILENO : opened, options, ret_error);
        r = spdl_database_open(&file->database, path, ret_error);
        return r == SPDL_DATABASE_INVALID ? SPDL_FILE_INVALID : r;
}

int spdl_file_next(SpdlFile *file, Buffer *ret_line, char ret_error[static SPDL_FILE_ERROR_MAX]) {
        const SpdlRow *row;

        if (file->database) {
                int r = spdl_database_next(file->database, ret_line, ret_error);

                return r == SPDL_DATABASE_END ? SPDL_FILE_END : r == SPDL_DATABASE_INVALID ? SPDL_FILE_INVALID : r;
        }
        if (file->next == file->table.n)
                return SPDL_FILE_END;
        row = &file->table.rows[file->next++];
        buffer_clear(ret_line);
        spdl_table_put(&file->table, row, ret_line);
        spdl_table_put_place(&file->table, row, file->place);
        return buffer_error(ret_line);
}

const char *spdl_file_place(const SpdlFile *file) {
        return file->database ? spdl_database_place(file->database) : file->place;
}
