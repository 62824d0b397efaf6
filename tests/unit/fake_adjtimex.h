/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fakes the synchronisation state that adjtimex(2) reports, for the rest of the process. */

#include "room_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* Makes adjtimex(2) return an error, or success with an unchanged, zeroed state, which means a synchronised clock. */
static inline void fake_adjtimex(uint32_t error) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_adjtimex, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog filter = { .len = N_ELEMENTS(code), .filter = code };

        assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}
