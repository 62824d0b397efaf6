/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lustre: statistics of a mount, proc/fs/lustre/llite or sys/kernel/debug/lustre/llite (since version 2.12)
 *
 * They count what programs read and wrote, from the cache as well, and operations, with their times since version
 * 2.14. Only root can enter debugfs, unless its group is changed.
 */

#include "measure/equipment.h"
#include "sample/host/mountstats.h"

/*
 * Finds the statistics of the i-th mount of a file system by its source, such as "10.0.0.1@tcp:/scratch". Returns 0, or
 * the errno and the path of what was tried.
 */
int lustre_find(int root_fd, const char *source, size_t i, char ret_path[static NETFS_PATH_MAX]);

/* Sets the values of an item. Returns 0 or TEXT_MALFORMED, without changes. */
int lustre_parse(const char *text, SampleEquipment *item, const char **ret_fault);
