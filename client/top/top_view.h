/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Top view: writes a TopState as lines of text, or as JSON */

#include "client/cli/screen.h"
#include "client/top/top_state.h"

/* The part of the list of jobs that is shown. */
typedef struct TopWindow {
        unsigned n_rows;   /* of the terminal; 0: as many as there are jobs */
        size_t selected;   /* index of a job */
        size_t first;      /* set by top_view_write(), so that the selected job is shown */
        unsigned selected_row; /* set by top_view_write(); 0: none */
} TopWindow;

/* Writes lines of the screen's width, each with a line end. */
void top_view_write(Screen *screen, const TopState *state, TopWindow *window);
/* The last line of a terminal. */
const char *top_view_keys(const Screen *screen, const TopJobs *jobs);
void top_view_write_json(const TopState *state, Json *json);
