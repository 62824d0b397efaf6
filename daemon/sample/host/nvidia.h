/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * NVIDIA: GPUs that perfd-gpu reads
 *
 * The file of readings is opened, read once and closed at each tick: perfd-gpu may have been restarted, and a file that
 * is replaced is never half written. Readings that are older than GPU_FILE_AGE_MAX_NS are a failure, as is a driver
 * without readings. A GPU that is divided into instances (MIG), and these, are in no total: the driver does not tell
 * their utilization.
 */

#include "sample/host/equipment_reader.h"

extern const EquipmentReader nvidia_reader;
