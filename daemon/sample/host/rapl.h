/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * RAPL: meters of energy in processors and memory, below sys/class/powercap
 *
 * The kernel lists a zone for each package, with zones for its parts ("intel-rapl:0", "intel-rapl:0:1"), of processors
 * of Intel and AMD. A package may be listed by two interfaces: it is one item. Packages and memory are counted; cores
 * and graphics are parts of a package, and psys contains everything.
 *
 * Only root can read the counters since CVE-2020-8694: a rule of udev lets the group perfd read them.
 */

#include "sample/host/equipment_reader.h"

extern const EquipmentReader rapl_reader;
