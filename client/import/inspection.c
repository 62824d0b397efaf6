#include "client/import/inspection.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/import/input_tree.h"
#include "client/wire/json.h"
#include "client/cli/say.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/sha256.h"

/* --- ids ------------------------------------------------------------------------------------------ */

static void derive(const char *text, uint8_t ret[static RESULT_ID_BYTES]) {
        uint8_t digest[SHA256_BYTES];
        Sha256 sha;

        sha256_init(&sha);
        sha256_add(&sha, text, strlen(text));
        sha256_end(&sha, digest);
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

/* --- files ---------------------------------------------------------------------------------------- */

/* Where the files are, and what it is called in messages. */
typedef struct Place {
        const char *directory;
        InputTree tree;
} Place;

static void place_deinit(Place *place) {
        input_tree_deinit(&place->tree);
}

/* One document, and nothing after it. Trouble is spoken of; then *ret stays as it is. */
static int parse_file(const char *file, const Buffer *text, Arena *arena, const Value **ret) {
        const Value *document, *more;
        JsonReader reader;
        JsonError error;
        int r;

        json_reader_init(&reader, text->text ? text->text : "", text->n);
        r = json_read(&reader, arena, &document, &error);
        if (r == JSON_END)
                say("%s:1: is empty", file);
        if (r == 0 && document->type != VALUE_OBJECT)
                say("%s:%u: is %s, must be an object", file, reader.begin_line, value_type_text(document));
        else if (r == 0) {
                *ret = document;
                r = json_read(&reader, arena, &more, &error);
                if (r == 0)
                        say("%s:%u: holds more than one document: the first one is taken", file, reader.begin_line);
        }
        if (r == JSON_MALFORMED)
                say("%s:%u:%u: %s", file, error.line, error.column, error.text);

        return r == JSON_TOO_LARGE ? -ENOMEM : r < 0 ? r : 0;
}

enum {
        FILE_UNREAD = 1, /* as has been said, unless it may be missing */
};

/* file: its path, as messages have it. */
static int read_text(const Place *place, const char *file, bool is_optional, Buffer *ret) {
        int r;

        r = input_tree_read(&place->tree, file + strlen(place->directory) + 1, ret);
        if (r == 0 || r == -ENOMEM)
                return r;

        if (r != -ENOENT || !is_optional)
                say("Cannot read %s: %s", file, r == INPUT_NO_FILE ? "it is no regular file" :
                                                r == INPUT_LINK ? "links in what belongs to another user are not followed" :
                                                strerrordesc_np(-r));
        return FILE_UNREAD;
}

static int read_specification(Inspection *inspection, const Place *place) {
        scoped(buffer_deinit) Buffer text = {};
        char file[PATH_MAX];
        int r;

        if (snprintf(file, sizeof(file), "%s/build/specification", place->directory) >= (int)sizeof(file))
                return -ENAMETOOLONG;

        r = read_text(place, file, true, &text);
        if (r != 0)
                return r < 0 ? r : 0;
        r = arena_init(&inspection->arena, json_arena_size(text.n));
        return r == 0 ? parse_file(file, &text, &inspection->arena, &inspection->specification) : r;
}

static int read_run(InspectionRun *run, const Place *place, size_t n_more) {
        scoped(buffer_deinit) Buffer result = {}, hwinfo = {};
        char file[PATH_MAX];
        int r;

        (void)snprintf(file, sizeof(file), "%.*shwinfo", (int)(strlen(run->file) - strlen("result")), run->file);
        r = read_text(place, run->file, false, &result);
        if (r != 0)
                return r < 0 ? r : 0;
        r = read_text(place, file, true, &hwinfo);
        if (r < 0)
                return r;

        r = arena_init(&run->arena, amun_arena_size(result.n + hwinfo.n + n_more));
        if (r == 0)
                r = parse_file(run->file, &result, &run->arena, &run->result);
        if (r == 0 && hwinfo.n > 0)
                r = parse_file(file, &hwinfo, &run->arena, &run->hwinfo);
        return r;
}

/* --- all runs ------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
        const InspectionRun *x = a, *y = b;

        return x->index < y->index ? -1 : x->index > y->index;
}

static int add_run(Inspection *inspection, const Place *place, const char *name) {
        InspectionRun *runs, *run;
        uint64_t index;

        /* 007 is none: it would be 7 twice */
        if (parse_u64(name, &index) != 0 || index > UINT32_MAX || (name[0] == '0' && name[1]))
                return 0;
        if (inspection->n_runs == INSPECTION_RUNS_MAX)
                return -E2BIG;

        runs = reallocarray(inspection->runs, inspection->n_runs + 1, sizeof(*runs));
        if (!runs)
                return -ENOMEM;
        inspection->runs = runs;

        run = &runs[inspection->n_runs++];
        *run = (InspectionRun){ .index = (uint32_t)index };
        if (asprintf(&run->file, "%s/results/%s/result", place->directory, name) < 0) {
                run->file = NULL;
                return -ENOMEM;
        }
        return strlen(run->file) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int list_runs(Inspection *inspection, const Place *place) {
        scoped(closedirp) DIR *dir = NULL;
        scoped(closep) int fd = -1;
        struct dirent *entry;
        int r;

        r = input_tree_open_directory(&place->tree, "results", &fd);
        if (r != 0)
                return r < 0 ? r : -ELOOP;
        dir = file_open_list(fd, ".");
        if (!dir)
                return -errno;

        while (r == 0 && (entry = readdir(dir)))
                r = add_run(inspection, place, entry->d_name);
        if (inspection->n_runs > 0)
                qsort(inspection->runs, inspection->n_runs, sizeof(*inspection->runs), compare);
        return r;
}

/* What those say that came as far as saying it: all runs of an inspection are of one script. */
static int find_names(const Inspection *inspection, AmunContext *context) {
        const Value *printed;
        Complaint ignored;
        int r;

        for (size_t i = 0; i < inspection->n_runs && (!context->name || !context->component); i++) {
                InspectionRun *run = &inspection->runs[i];
                Indicator indicator;

                if (!run->result)
                        continue;
                r = amun_find_printed(run->result, &run->arena, &printed, &ignored);
                if (r < 0)
                        return r;
                if (r != 0 || !printed || indicator_from_value(printed, STRING_MAX_BYTES, &indicator, &ignored) != 0)
                        continue;
                context->name = context->name ?: indicator.name;
                context->component = context->component ?: indicator.component;
                context->version = context->version ?: indicator.version;
        }
        return 0;
}

static int make_submission(const Inspection *inspection, AmunContext *context, InspectionRun *run) {
        Complaint complaint;
        int r;

        if (!run->result)
                return 0;

        context->hwinfo = run->hwinfo;
        r = amun_read(run->result, context, &run->arena, &run->submission, &complaint);
        if (r == INDICATOR_INVALID) {
                say("%s: %s%s%s", run->file, complaint.path, complaint.path[0] ? ": " : "", complaint.text);
                return 0;
        }
        if (r < 0)
                return r;

        run->submission.job = "";
        run->submission.has_batch = true;
        run->submission.batch_index = run->index;
        memcpy(run->submission.batch, inspection->batch, sizeof(inspection->batch));
        inspection_derive_result_id(inspection->id, run->index, run->submission.id);
        run->is_good = true;
        return 0;
}

/* "." and a path that ends in a slash have a name, too. */
static int find_id(Inspection *inspection, const char *directory) {
        char real[PATH_MAX];

        if (!realpath(directory, real))
                return -errno;

        (void)snprintf(inspection->id, sizeof(inspection->id), "%s", strrchr(real, '/') + 1);
        inspection_derive_id(inspection->id, inspection->batch);
        return 0;
}

static int read_runs(Inspection *inspection, const Place *place, AmunContext *context) {
        size_t n_specification;
        int r;

        r = read_specification(inspection, place);
        n_specification = inspection->arena.n_used;
        for (size_t i = 0; i < inspection->n_runs && r == 0; i++)
                r = read_run(&inspection->runs[i], place, n_specification / 16);
        if (r == 0)
                r = find_names(inspection, context);
        context->specification = inspection->specification;
        for (size_t i = 0; i < inspection->n_runs && r == 0; i++) {
                r = make_submission(inspection, context, &inspection->runs[i]);
                inspection->n_skipped += !inspection->runs[i].is_good;
        }
        return r;
}

void inspection_deinit(Inspection *inspection) {
        for (size_t i = 0; i < inspection->n_runs; i++) {
                free(inspection->runs[i].file);
                arena_deinit(&inspection->runs[i].arena);
        }
        free(inspection->runs);
        arena_deinit(&inspection->arena);
}

int inspection_read(Inspection *ret, const char *directory, const char *name, const char *component) {
        scoped(inspection_deinit) Inspection inspection = {};
        scoped(place_deinit) Place place = { .directory = directory, .tree.fd = -1 };
        AmunContext context = { .name = name, .component = component, .inspection = inspection.id };
        int r;

        r = input_tree_open(&place.tree, directory);
        if (r == 0)
                r = find_id(&inspection, directory);
        if (r == 0)
                r = list_runs(&inspection, &place);
        if (r == 0 && inspection.n_runs == 0)
                r = -ENODATA;
        if (r == 0)
                r = read_runs(&inspection, &place, &context);
        if (r < 0)
                return r;

        *ret = inspection;
        inspection = (Inspection){};
        return 0;
}
