/* SPDX-License-Identifier: Apache-2.0 */
#include "store/table/table_erasure.h"

const TableErasure table_erasure_none = {}, table_erasure_follows = {};
