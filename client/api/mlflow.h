/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MLflow: names of metrics that MLflow accepts
 *
 * perf.py of lightgbm-benchmark puts a prefix before the name, leaves out what is not one of [a-zA-Z0-9_-. /], and cuts
 * the rest to 50 characters. MLflow itself also refuses a name that as a path would mean another one.
 */

#include <stdbool.h>

#define MLFLOW_NAME_MAX 51 /* with NUL */

/* Applies perf.py's rule. Bytes that are not ASCII are omitted one by one, with the same result. */
void mlflow_name(const char *prefix, const char *key, char ret[static MLFLOW_NAME_MAX]);
/* Whether MLflow takes a name that the rule made: no part of it between '/' is empty, "." or "..", and it does not begin with "..". */
bool mlflow_name_is_valid(const char *name);
