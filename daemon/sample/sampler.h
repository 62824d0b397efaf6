/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampler: reads the kernel
 *
 * Keeps the files of proc open and reads each with one pread(2) a tick. A source that is missing or
 * malformed is left out of the sample, counted, and tried again: at the next tick, or after a minute
 * when its file could not be opened (which is not counted meanwhile). A device list is classified
 * again when it changes; diskstats.h, netdev.h and mounts.h say how devices are told apart and what is
 * left out. Allocates only when hardware appears.
 */

#include <stdint.h>

#include "measure/sample.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

typedef struct Sampler Sampler;

/* root: "/", or a directory that has proc/ and sys/ of its own: another machine's, captured, or the host's in
 * a container; mounts and network are then those of process 1, where they can be read.
 * filesystems_interval_ns: how old file system numbers may get. 0, -ENOMEM, or why root cannot be opened. */
int sampler_new(Sampler **ret, const char *root, uint64_t filesystems_interval_ns);
Sampler *sampler_free(Sampler *sampler);
DEFINE_SCOPED(Sampler, sampler_free);

/* Fills *sample (arrays reused). The times are the caller's. 0, or -ENOMEM and what was read until then; single
 * sources never fail the whole. */
int sampler_read(Sampler *sampler, uint64_t boottime_ns, uint64_t realtime_ns, Sample *sample);
const SamplerStats *sampler_stats(const Sampler *sampler);

/* "5f0d…" of proc/sys/kernel/random/boot_id under the root. "" when it cannot be read. */
#define BOOT_ID_MAX 37
void sampler_boot_id(const Sampler *sampler, char ret[static BOOT_ID_MAX]);
/* Start time of a process in clock ticks since boot (proc/PID/stat field 22), and the user it runs as.
 * 0, -ESRCH when there is none, or it has ended and only waits for its parent, or what keeps us from telling. */
int sampler_process_start(const Sampler *sampler, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid);
