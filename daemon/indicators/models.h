/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Models: what perfd knows of indicators
 *
 * A table of declarations, from the files of a directory and from those that were registered, found by name and
 * component. A model owns its text and tree. Where both declare the same, a registered one of an administrator holds,
 * then the file, then a registered one of a user.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator_model.h"
#include "util/buffer.h"
#include "util/scoped.h"

#define MODELS_MAX 1024U         /* of files and registered, each */
#define MODELS_PER_UID_MAX 64U   /* registered by a user who is no administrator */
#define MODELS_BYTES_PER_UID_MAX (1024U * 1024U) /* their declarations as JSON: all are held in memory, and written anew with each change */
#define MODEL_FILE_BYTES_MAX (256U * 1024U)
#define MODEL_COMPLAINTS_MAX 16U /* that are kept: all are logged */

#define MODELS_DIRECTORY_MAX 256

typedef struct IndicatorsConfig {
        char directory[MODELS_DIRECTORY_MAX]; /* of declarations; "": none */
        ModelPolicy policy;
} IndicatorsConfig;

typedef struct Model {
        IndicatorModel model; /* in the arena */
        Arena arena;
        char *file;   /* owned; that declares it; NULL: it was registered */
        char *json;   /* owned; its declaration */
        uint32_t uid; /* of who registered it */
        bool by_admin;
} Model;

/* 0; MODEL_INVALID: the complaint says why; or -ENOMEM. The text is JSON or YAML, and copied. */
int model_new(Model **ret, const char *text, size_t n, Complaint *ret_complaint, unsigned *ret_line, unsigned *ret_column);
Model *model_free(Model *model);
DEFINE_SCOPED(Model, model_free);

typedef struct ModelList {
        Model **items; /* owned, and so are the models; by name, then component */
        size_t n;
        char *complaints[MODEL_COMPLAINTS_MAX]; /* owned: of files that could not be taken, as they were logged */
        size_t n_complaints;
} ModelList;

typedef struct Models {
        ModelList files, registered;
} Models;

void models_deinit(Models *models);

/*
 * The declarations in the *.yaml files of a directory, in place of those of files before. What is wrong with one is logged, and
 * the others are taken. "" is none. Returns how many files could not be taken; negative errno: nothing was changed.
 */
int models_read_files(Models *models, const char *directory);

/* Takes the model over, in place of a registered one of its name and component. */
enum {
        MODELS_FULL = 1,
};
int models_add_registered(Models *models, Model **model);

/* The one that holds for results of this name and component (NULL: not known), or NULL. Borrowed until models change. */
const Model *models_find(const Models *models, const char *name, const char *component);
/* Takes a registered one out of the table; NULL when there is none. The caller frees it. */
Model *models_take_registered(Models *models, const char *name, const char *component);
/* The registered one that declares just that. */
const Model *models_find_registered(const Models *models, const char *name, const char *component);
/* Of a file, and no registered one holds in its place. */
bool models_is_in_force(const Models *models, const Model *model);

/* What a user has registered, but for one model, which may be NULL. */
typedef struct ModelsOfUser {
        size_t n, n_bytes; /* of the declarations as JSON */
} ModelsOfUser;
ModelsOfUser models_of_user(const Models *models, uint32_t uid, const Model *without);

/* {"policy": …, "models": […], "complaints": […]}, as /api/v1/models answers. */
void models_write_json(const Models *models, ModelPolicy policy, Buffer *out);
