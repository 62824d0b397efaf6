/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Slow reader: a reader of equipment that asks a driver, in a thread
 *
 * Drivers pass a question on to the hardware and wait for the answer: milliseconds, a minute if an adapter is ill, or
 * for ever. The main loop asks at the begin of a sample and takes what has been read at its end, without waiting for
 * it. A thread reads once and ends. If it has not ended by then, the items are those of the reading before, and have
 * its time. While a thread does not end, there is no further one, and after three seconds no items; it frees what it
 * uses if it ends after perfd did not wait for it.
 */

#include "sample/host/equipment_reader.h"

typedef struct SlowReader SlowReader;

/* reader: one with a driver; static. root, root_fd: as of equipment_reader_new(). Returns 0 or a negative errno. */
int slow_reader_new(SlowReader **ret, const EquipmentReader *reader, const char *root, int root_fd);
SlowReader *slow_reader_free(SlowReader *slow);

/* Starts a reading, unless one is under way. A node without such equipment is asked every ten seconds. */
void slow_reader_ask(SlowReader *slow, uint64_t now_ns);
/*
 * Adds the items that were read last, as EquipmentReader.read(). EQUIPMENT_NONE before the first reading. *ret_read_ns:
 * when they were asked for.
 */
int slow_reader_read(SlowReader *slow, Sample *sample, uint64_t *ret_read_ns, const char **ret_fault);
