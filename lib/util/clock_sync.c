/* SPDX-License-Identifier: Apache-2.0 */
#include "util/clock_sync.h"

#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

bool clock_sync_is_on(void) {
        struct timex state = { .modes = 0 }; /* modes 0: read only */
        long r = syscall(SYS_adjtimex, &state); /* glibc's adjtimex() calls clock_adjtime(2), which the system call
                                                 * filter of perfd.service denies */

        return r >= 0 && r != TIME_ERROR && !(state.status & STA_UNSYNC);
}
