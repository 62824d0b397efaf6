/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Node subject: the node's history. */

#include "store/store_subject.h"

extern const StoreSubject store_node;
