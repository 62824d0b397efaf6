#pragma once

/*
 * Running a specification: a fresh directory, its files, and `perfctl run` for its script
 */

#include "client/options.h"

/* perfctl's exit status: that of the first run that did not end well. */
int spec_run(const Options *options);
