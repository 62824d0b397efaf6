/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Trim: gives back what only the start needed
 *
 * Loading two dozen libraries touches megabytes of code and tables that never run again. Once perfd
 * is ready, the clean pages of all loaded objects are dropped from the process; what is still needed comes back
 * from the page cache at its next use.
 */

void trim_loaded_objects(void);
