/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Models: the table of indicator models
 *
 * Models are declared in the files of a directory, or registered by clients, and are found by name and component. A
 * model owns its text and tree. If several models have the same name and component, the model registered by an
 * administrator takes precedence, then the model of the file. Both apply to the results of all users. A model
 * registered by a user comes last, and applies only to that user's results.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document/indicator_model.h"
#include "shares/shares.h"
#include "store/indicators/model_rows.h"
#include "snapshot/shared_texts.h"
#include "util/buffer.h"
#include "util/scoped.h"

#define MODELS_MAX 1024U         /* maximum number of models from files, and of registered models */
#define MODEL_CHARGE_BYTES 4096U /* charge for a registered model in addition to its JSON text */
#define MODEL_FILE_BYTES_MAX (256U * 1024U)
#define MODEL_COMPLAINTS_MAX 16U /* maximum number of complaints that are kept and logged */

#define MODELS_DIRECTORY_MAX 256

typedef struct IndicatorsConfig {
        char directory[MODELS_DIRECTORY_MAX]; /* directory of the *.yaml files; "": none */
        ModelPolicy policy;
} IndicatorsConfig;

typedef struct Model {
        IndicatorModel model; /* in the arena */
        Arena arena;
        char *file;   /* owned; path of the file that declares the model; NULL: a registered model */
        char *json;   /* owned; the declaration */
        SharedText *text; /* a reference; the model's part of the list of models, or NULL: not listed yet */
        uint32_t uid; /* user who registered the model */
        bool by_admin; /* an administrator registered the model */
        Charge charge; /* of RESOURCE_MODELS, to the user; {} for a model of a file */
} Model;

/*
 * Owner of a model that applies to the results of all users; otherwise the owner is the user to whose results the
 * model applies.
 */
#define MODEL_OF_ALL MODEL_ROWS_OF_ALL
int64_t model_owner(const Model *model);

/* Makes a model from JSON or YAML text, which is copied. Returns 0; MODEL_INVALID with a complaint; or -ENOMEM. */
int model_new(Model **ret, const char *text, size_t n, Complaint *ret_complaint, unsigned *ret_line,
              unsigned *ret_column);
Model *model_free(Model *model);
DEFINE_SCOPED(Model, model_free);

typedef struct ModelList {
        Model **items; /* owned, as are the models; sorted by name, then component */
        size_t n;
        char *complaints[MODEL_COMPLAINTS_MAX]; /* owned; messages about invalid files, for the log */
        size_t n_complaints;
        int n_bad; /* invalid files */
} ModelList;

typedef struct Models {
        ModelList files, registered;
} Models;

void models_deinit(Models *models);

/*
 * Replaces the models of files with those declared in the *.yaml files of the directory; "": no directory. Logs an
 * error for each invalid file. Returns the number of invalid files, or a negative errno without a change.
 */
int models_read_files(Models *models, const char *directory);
/* Replaces the models of files with those that another table has read. */
void models_move_files(Models *models, Models *from);

/* Takes ownership of *model, and replaces a registered model with the same name, component and owner. Returns 0,
 * MODELS_FULL or -ENOMEM. */
enum {
        MODELS_FULL = 1,
};
int models_add_registered(Models *models, Model **model);

/*
 * Returns the model in effect for a user's results with a name and component (NULL: unknown), or NULL. Borrowed until
 * the models change.
 */
const Model *models_find(const Models *models, uint32_t uid, const char *name, const char *component);
/* Removes a registered model from the table. The caller frees the returned model. */
Model *models_remove_registered(Models *models, const Model *model);
/* Returns the registered model with exactly this name, component and owner, or NULL. */
Model *models_find_registered(const Models *models, int64_t owner, const char *name, const char *component);
/*
 * Returns a registered model with exactly this name and component and any owner, preferring the one for all users;
 * NULL if there is none.
 */
const Model *models_find_registered_any(const Models *models, const char *name, const char *component);
/* Returns the number of accepted levels (indicator_model.h) that the owner of a model has registered. */
size_t models_count_accepted(const Models *models, const Model *of);
/* Returns the file's model with exactly this name and component, or NULL. */
const Model *models_find_file(const Models *models, const char *name, const char *component);
/*
 * Returns true if no other model with the same name and component takes precedence for the results that the model
 * applies to.
 */
bool models_is_effective(const Models *models, const Model *model);

/* Logs why files were ignored. */
void models_log_complaints(const Models *models);

/*
 * Lists the parts of {"policy": …, "models": […], "complaints": […]}, the answer of /api/v1/models. A model's part
 * is formatted once. 0 with a reference that the caller releases, or -ENOMEM.
 */
int models_list_texts(Models *models, ModelPolicy policy, SharedTexts **ret);
