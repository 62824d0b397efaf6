/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fabric: ports of InfiniBand, RoCE, Omni-Path (sys/class/infiniband) and Slingshot (sys/class/cxi)
 *
 * Each file may be a command to the adapter, which takes milliseconds, or hangs if the adapter is ill: slow_reader.h.
 * The list of ports, their state and their errors are read every ten seconds; bytes and packets with each sample. A
 * driver may lack a counter, which is absent then: soft RoCE counts no bytes.
 */

#include "sample/host/equipment_reader.h"

extern const EquipmentReader fabric_reader;
