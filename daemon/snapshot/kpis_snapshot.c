/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot/kpis_snapshot.h"

#include <stdlib.h>

void kpis_snapshot_deinit(KpisSnapshot *kpis) {
        free(kpis->samples);
        free(kpis->texts);
        *kpis = (KpisSnapshot){};
}
