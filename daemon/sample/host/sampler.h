/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampler: reads the kernel's counters
 *
 * Keeps the files of proc open and reads each with one pread(2) per tick. A source that is missing or malformed is
 * omitted from the sample, counted as an error, and tried again: at the next tick, or after a minute if its file
 * could not be opened (without further errors in between). Devices are classified again when the device list changes;
 * diskstats.h, netdev.h and mounts.h describe the classes and which devices are skipped. Allocates memory only when
 * hardware appears.
 */

#include <stdint.h>

#include "measure/sample.h"
#include "snapshot/stats.h"
#include "util/scoped.h"

typedef struct Sampler Sampler;

/*
 * root: "/", or a directory with proc/ and sys/: a captured tree of another machine, or the host's in a container;
 * then mounts and network are those of process 1, if readable. filesystems_interval_ns: maximum age of the values of
 * file systems other than "/". Returns 0, -ENOMEM, or the error of opening root.
 */
int sampler_new(Sampler **ret, const char *root, uint64_t filesystems_interval_ns);
Sampler *sampler_free(Sampler *sampler);
DEFINE_SCOPED(Sampler, sampler_free);

/*
 * Fills *sample, reusing its arrays. The caller provides the times. Returns 0, or -ENOMEM with a partial sample;
 * errors of single sources are not returned.
 */
int sampler_read(Sampler *sampler, uint64_t boottime_ns, uint64_t realtime_ns, Sample *sample);
/* As sampler_read(), for proc/stat alone. */
int sampler_read_cpus(Sampler *sampler, uint64_t boottime_ns, Sample *sample);
const SamplerStats *sampler_stats(const Sampler *sampler);

/* Returns "5f0d…" from proc/sys/kernel/random/boot_id under the root; "" if it cannot be read. */
#define BOOT_ID_MAX 37
void sampler_boot_id(const Sampler *sampler, char ret[static BOOT_ID_MAX]);
/*
 * Returns the start time of a process in clock ticks since boot (proc/PID/stat, field 22), and its user. 0; -ESRCH if
 * the process does not exist or is a zombie; or the error that prevents reading.
 */
int sampler_process_start(const Sampler *sampler, int32_t pid, uint64_t *ret_ticks, uint32_t *ret_uid);
/* Returns the parent of a process; 0: unknown. */
int32_t sampler_process_parent(const Sampler *sampler, int32_t pid);
