/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * amdgpu: GPUs of AMD, below sys/class/drm
 *
 * The driver asks the GPU for most values, and waits for the answer, for seconds if the GPU hangs: slow_reader.h.
 *
 * Times are integrals of what is read, and begin with perfd. Energy is the counter that the driver passes on.
 *
 * GPUs are named amd0, amd1, … in the order of their cards, in which ROCR_VISIBLE_DEVICES numbers them.
 */

#include "sample/host/equipment_reader.h"

extern const EquipmentReader amdgpu_reader;
