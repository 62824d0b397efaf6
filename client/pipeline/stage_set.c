/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipeline/stage_set.h"

#include <stdlib.h>

void stage_set_deinit(StageSet *set) {
        free(set->stages);
        *set = (StageSet){};
}
