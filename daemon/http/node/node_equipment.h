/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Equipment of the node in the JSON API and on /metrics; nothing of kinds that the node does not have. */

#include "http/metrics.h"
#include "measure/sample.h"

/* Writes a member with a list for each kind: items with their name, texts and values in base units. */
void node_equipment_write(Json *json, const Sample *sample);
/* Puts a family for each value that an item has, and one with the texts of each kind. */
void node_equipment_metrics(Exposition *exposition, const Sample *sample);
