/* SPDX-License-Identifier: Apache-2.0 */
#include "client/import/inspection.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/input.h"
#include "client/cli/message.h"
#include "text/encoding.h"
#include "util/error_text.h"
#include "util/sha256.h"
#include "value/value_parse.h"
#include "util/array.h"
#include "util/beneath.h"
#include "util/file.h"
#include "util/parse.h"

/* --- ids ------------------------------------------------------------------------------------------ */

static void derive(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        uint8_t digest[SHA256_BYTES];

        sha256_of(text, strlen(text), digest);
        memcpy(ret, digest, RESULT_ID_BYTES);
        ret[6] = (uint8_t)(0x80 | (ret[6] & 0x0f));
        ret[8] = (uint8_t)(0x80 | (ret[8] & 0x3f));
}

void inspection_derive_id(const char *inspection, uint8_t ret[static RESULT_ID_BYTES]) {
        char text[NAME_MAX + 64];

        (void)snprintf(text, sizeof(text), "perfd inspection\n%s", inspection);
        derive(text, ret);
}

void inspection_derive_result_id(const char *inspection, uint32_t index, uint8_t ret[static RESULT_ID_BYTES]) {
        char text[NAME_MAX + 64];

        (void)snprintf(text, sizeof(text), "perfd inspection result\n%s\n%u", inspection, index);
        derive(text, ret);
}

/* --- files of another user ------------------------------------------------------------------------ */

/*
 * The directory may belong to another user, and the reader may be root. Such a tree must not redirect the reader to
 * files that only the reader can read, nor block it: only regular files are opened, and links are followed only if
 * the directory belongs to the reader.
 */
enum {
        INPUT_NO_FILE = 1, /* a directory, pipe or device */
        INPUT_LINK,        /* a link of another user, at the end of the path or before */
};

static int open_tree(InputTree *ret, const char *directory) {
        scoped(closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;

        *ret = (InputTree){ .fd = TAKE_FD(fd), .is_own = st.st_uid == geteuid() };
        return 0;
}

/*
 * Opens the directory at the path `below` for listing; the caller closes *ret_fd. Returns 0, INPUT_LINK or a negative
 * errno.
 */
static int open_directory(const InputTree *tree, const char *below, int *ret_fd) {
        scoped(closep) int found_fd = -1;
        int fd, r = 0;

        if (!tree->is_own)
                r = beneath_open(tree->fd, below, false, &found_fd);
        if (r > 0)
                return r == BENEATH_NONE ? -ENOENT : INPUT_LINK;
        if (r < 0)
                return r;

        fd = openat(tree->is_own ? tree->fd : found_fd, tree->is_own ? below : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        *ret_fd = fd;
        return 0;
}

/* Opens a file without waiting for the other end of a pipe, and without acquiring a controlling terminal. */
static int open_file(const InputTree *tree, const char *below, int *ret_fd) {
        const char *slash = strrchr(below, '/');
        scoped(closep) int directory_fd = -1;
        char directory[PATH_MAX];
        int fd, r;

        if (snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - below) : 1, slash ? below : ".") >=
            (int)sizeof(directory))
                return -ENAMETOOLONG;
        r = open_directory(tree, directory, &directory_fd);
        if (r != 0)
                return r;

        fd = openat(directory_fd, slash ? slash + 1 : below,
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (tree->is_own ? 0 : O_NOFOLLOW));
        if (fd < 0)
                return errno == ELOOP && !tree->is_own ? INPUT_LINK : errno == ENXIO ? INPUT_NO_FILE : -errno;

        *ret_fd = fd;
        return 0;
}

/* Appends the whole file. Returns 0, an outcome above, -EFBIG beyond INPUT_BYTES_MAX, or another negative errno. */
static int read_file(const InputTree *tree, const char *below, Buffer *ret) {
        scoped(closep) int fd = -1;
        struct stat st;
        int r;

        r = open_file(tree, below, &fd);
        if (r != 0)
                return r;
        if (fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? input_read_fd(fd, ret) : INPUT_NO_FILE;
}

/* --- files ---------------------------------------------------------------------------------------- */

/* Reports an error in a file. Quiet during the first pass over the files, so that each error is reported once. */
static void report_error(const Inspection *inspection, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void report_error(const Inspection *inspection, const char *format, ...) {
        char text[PATH_MAX + VALUE_ERROR_TEXT_MAX + 64];
        va_list args;

        if (inspection->is_quiet)
                return;
        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        message_print("%s", text);
}

/* Parses a file that must contain one document. On an error, prints a message and leaves *ret unchanged. */
static int parse_file(const Inspection *inspection, const char *file, const Buffer *text, Arena *arena,
                      const Value **ret) {
        const Value *document, *more;
        ValueReader reader;
        ValueError error;
        int r;

        value_parse_begin(&reader, text->text ? text->text : "", text->n);
        r = value_parse_next(&reader, arena, &document, &error);
        if (r == VALUE_END)
                report_error(inspection, "%s:1: is empty", file);
        if (r == 0 && document->type != VALUE_OBJECT)
                report_error(inspection, "%s:%u: is %s, must be an object", file, reader.begin_line,
                             value_type_text(document));
        else if (r == 0) {
                *ret = document;
                if (reader.n_not_finite > 0)
                        report_error(inspection, "%s: " INPUT_NOT_FINITE_TEXT, file, reader.n_not_finite);
                r = value_parse_next(&reader, arena, &more, &error);
                if (r == 0)
                        report_error(inspection, "%s:%u: contains more than one document; only the first is used", file,
                                     reader.begin_line);
        }
        if (r == VALUE_MALFORMED)
                report_error(inspection, "%s:%u:%u: %s", file, error.line, error.column, error.text);

        return r == VALUE_NO_ROOM ? -ENOMEM : 0;
}

enum {
        FILE_UNREAD = 1, /* not read; the error was reported, unless the file is optional and missing */
};

/* file: path for messages, below the inspection's directory. */
static int read_text(const Inspection *inspection, const char *file, bool is_optional, Buffer *ret) {
        int r;

        r = read_file(&inspection->tree, file + strlen(inspection->directory) + 1, ret);
        if (r == 0 || r == -ENOMEM)
                return r;

        if (r != -ENOENT || !is_optional)
                report_error(inspection, "cannot read %s: %s", file,
                     r == INPUT_NO_FILE ? "it is not a regular file" :
                     r == INPUT_LINK    ? "symbolic links in a directory of another user are not followed" :
                     r == -EILSEQ       ? "it " ENCODING_FOREIGN_TEXT :
                                          error_text(-r));
        return FILE_UNREAD;
}

static int read_specification(Inspection *inspection) {
        scoped(buffer_deinit) Buffer text = {};
        char file[PATH_MAX];
        int r;

        (void)snprintf(file, sizeof(file), "%s/build/specification", inspection->directory);
        r = read_text(inspection, file, true, &text);
        if (r != 0)
                return r < 0 ? r : 0;
        r = arena_init(&inspection->arena, value_parse_arena_size(text.n));
        return r == 0 ? parse_file(inspection, file, &text, &inspection->arena, &inspection->context.specification) : r;
}

static void release_run(InspectionRun *run) {
        arena_deinit(&run->arena);
        *run = (InspectionRun){};
}

static int read_run(Inspection *inspection, uint32_t index) {
        scoped(buffer_deinit) Buffer result = {}, hwinfo = {};
        InspectionRun *run = &inspection->run;
        char file[PATH_MAX];
        int r;

        release_run(run);
        run->index = index;
        (void)snprintf(run->file, sizeof(run->file), "%s/results/%u/result", inspection->directory, index);
        (void)snprintf(file, sizeof(file), "%s/results/%u/hwinfo", inspection->directory, index);
        r = read_text(inspection, run->file, false, &result);
        if (r != 0)
                return r < 0 ? r : 0;
        r = read_text(inspection, file, true, &hwinfo);
        if (r < 0)
                return r;

        r = arena_init(&run->arena, amun_arena_size(result.n + hwinfo.n + inspection->arena.n_used / 16));
        if (r == 0)
                r = parse_file(inspection, run->file, &result, &run->arena, &run->result);
        if (r == 0 && hwinfo.n > 0)
                r = parse_file(inspection, file, &hwinfo, &run->arena, &run->hwinfo);
        return r;
}

/* --- list of runs ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static int add_run(Inspection *inspection, const char *name) {
        uint64_t index;

        /* "007" is not a run: it would be a second run 7 */
        if (parse_u64(name, &index) != 0 || index > UINT32_MAX || (name[0] == '0' && name[1]))
                return 0;
        if (inspection->n_runs == INSPECTION_RUNS_MAX)
                return -E2BIG;

        if (ARRAY_RESERVE(inspection->indices, inspection->n_allocated, inspection->n_runs + 1) < 0)
                return -ENOMEM;
        inspection->indices[inspection->n_runs++] = (uint32_t)index;
        return 0;
}

static int list_runs(Inspection *inspection) {
        scoped(closedirp) DIR *dir = NULL;
        scoped(closep) int fd = -1;
        struct dirent *entry;
        int r;

        r = open_directory(&inspection->tree, "results", &fd);
        if (r != 0)
                return r < 0 ? r : -ELOOP;
        dir = file_open_list(fd, ".");
        if (!dir)
                return -errno;

        while (r == 0 && (entry = readdir(dir)))
                r = add_run(inspection, entry->d_name);
        if (r == 0 && inspection->n_runs == 0)
                return -ENODATA;
        if (r == 0)
                qsort(inspection->indices, inspection->n_runs, sizeof(*inspection->indices), compare);
        return r;
}

/* --- id and names ----------------------------------------------------------------------------------- */

/* The path of a run's result is the longest path below the directory. */
static int find_id(Inspection *inspection) {
        char real[PATH_MAX];

        if (strlen(inspection->directory) + sizeof("/results/4294967295/result") > PATH_MAX)
                return -ENAMETOOLONG;
        if (!realpath(inspection->directory, real)) /* resolves "." and a trailing slash to a name */
                return -errno;

        (void)snprintf(inspection->id, sizeof(inspection->id), "%s", strrchr(real, '/') + 1);
        inspection_derive_id(inspection->id, inspection->batch);
        return 0;
}

static int store_name(const char *text, char **ret, const char **ret_name) {
        if (!text || *ret_name)
                return 0;

        *ret = strdup(text);
        *ret_name = *ret;
        return *ret ? 0 : -ENOMEM;
}

static int store_names(Inspection *inspection, const Indicator *indicator) {
        AmunContext *context = &inspection->context;
        int r;

        r = store_name(indicator->name, &inspection->names[0], &context->name);
        if (r == 0)
                r = store_name(indicator->component, &inspection->names[1], &context->component);
        if (r == 0)
                r = store_name(indicator->version, &inspection->names[2], &context->version);
        if (r == 0)
                r = kept_parameters_add(&inspection->parameters, indicator);
        return r == 0 ? kept_parameters_document(&inspection->parameters, &context->printed) : r;
}

/*
 * Takes names and parameters from the first run that printed a valid indicator: all runs have the same script and
 * environment.
 */
static int find_names(Inspection *inspection) {
        InspectionRun *run = &inspection->run;
        const Value *printed;
        Indicator indicator;
        Complaint ignored;
        int r;

        for (size_t i = 0; i < inspection->n_runs; i++) {
                r = read_run(inspection, inspection->indices[i]);
                if (r < 0)
                        return r;
                if (!run->result)
                        continue;
                r = amun_find_printed(run->result, &run->arena, &printed, &ignored);
                if (r < 0)
                        return r;
                if (r == 0 && printed && indicator_from_value(printed, DOCUMENT_LIMITS_NONE, &indicator, &ignored) == 0)
                        return store_names(inspection, &indicator);
        }
        return 0;
}

int inspection_open(Inspection *ret, const char *directory, const char *name, const char *component) {
        int r;

        *ret = (Inspection){ .directory = directory,
                             .tree.fd = -1,
                             .context = { .name = name, .component = component } };
        ret->context.inspection = ret->id;
        r = open_tree(&ret->tree, directory);
        if (r == 0)
                r = find_id(ret);
        if (r == 0)
                r = list_runs(ret);
        if (r == 0)
                r = read_specification(ret);
        if (r != 0)
                return r;

        ret->is_quiet = true;
        r = find_names(ret);
        ret->is_quiet = false;
        return r;
}

void inspection_deinit(Inspection *inspection) {
        release_run(&inspection->run);
        for (size_t i = 0; i < N_ELEMENTS(inspection->names); i++)
                free(inspection->names[i]);
        kept_parameters_deinit(&inspection->parameters);
        free(inspection->indices);
        arena_deinit(&inspection->arena);
        closep(&inspection->tree.fd);
}

/* --- submissions ------------------------------------------------------------------------------------ */

/* Returns 0, INDICATOR_INVALID after a message, or a negative errno. */
static int make_submission(Inspection *inspection) {
        InspectionRun *run = &inspection->run;
        Complaint complaint;
        int r;

        inspection->context.hwinfo = run->hwinfo;
        r = amun_read(run->result, &inspection->context, &run->arena, &run->submission, &complaint);
        if (r == INDICATOR_INVALID)
                message_print("%s: %s%s%s", run->file, complaint.path, complaint.path[0] ? ": " : "", complaint.text);
        if (r != 0)
                return r;

        run->submission.job = "";
        run->submission.has_batch = true;
        run->submission.batch_index = run->index;
        memcpy(run->submission.batch, inspection->batch, sizeof(inspection->batch));
        inspection_derive_result_id(inspection->id, run->index, run->submission.id);
        return 0;
}

int inspection_next(Inspection *inspection, const InspectionRun **ret) {
        int r;

        while (inspection->n_read < inspection->n_runs) {
                r = read_run(inspection, inspection->indices[inspection->n_read++]);
                if (r == 0)
                        r = inspection->run.result ? make_submission(inspection) : INDICATOR_INVALID;
                if (r < 0)
                        return r;
                if (r == 0) {
                        *ret = &inspection->run;
                        return 0;
                }
                inspection->n_skipped++;
        }
        return INSPECTION_END;
}
