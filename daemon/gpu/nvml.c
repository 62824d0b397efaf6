/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

GpuState nvml_state(int32_t result) {
        switch (result) {
        case NVML_UNINITIALIZED:
        case NVML_DRIVER_NOT_LOADED:
                return GPU_STATE_NO_DRIVER;
        case NVML_MISMATCH:
                return GPU_STATE_MISMATCH;
        case NVML_GPU_IS_LOST:
        case NVML_RESET_REQUIRED:
                return GPU_STATE_LOST;
        default:
                return GPU_STATE_OK;
        }
}

void nvml_explain(GpuState state, int32_t result, char ret_reason[static GPU_FILE_REASON_MAX]) {
        static const char *const reasons[N_GPU_STATES] = {
                [GPU_STATE_OK] = "",
                [GPU_STATE_NO_LIBRARY] = "the library " NVML_LIBRARY " of the NVIDIA driver cannot be loaded",
                [GPU_STATE_NO_DRIVER] = "the NVIDIA driver is not loaded",
                [GPU_STATE_MISMATCH] = "driver/library version mismatch: load the NVIDIA driver again",
                [GPU_STATE_NO_PERMISSION] = "perfd-gpu may not open the devices /dev/nvidia*",
                [GPU_STATE_LOST] = "a GPU does not answer: it has fallen off the bus, was removed, or needs a reset",
                [GPU_STATE_FAILED] = "the NVIDIA driver fails",
        };

        if (state == GPU_STATE_FAILED)
                (void)snprintf(ret_reason, GPU_FILE_REASON_MAX, "%s with error %d of NVML", reasons[state], result);
        else
                (void)snprintf(ret_reason, GPU_FILE_REASON_MAX, "%s", reasons[state]);
}

static GpuState state_of_init(int32_t result) {
        if (result == NVML_NO_PERMISSION || result == NVML_OPERATING_SYSTEM)
                return GPU_STATE_NO_PERMISSION;
        return result != NVML_SUCCESS && nvml_state(result) == GPU_STATE_OK ? GPU_STATE_FAILED : nvml_state(result);
}

static void *find_function(void *library, const char *name, const char *older) {
        void *function = dlsym(library, name);

        return function || !older ? function : dlsym(library, older);
}

GpuState nvml_open(Nvml *ret, const char *path, char ret_reason[static GPU_FILE_REASON_MAX]) {
        GpuState state = GPU_STATE_NO_LIBRARY;
        int32_t result;

        *ret = (Nvml){ .library = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
        if (!ret->library) {
                nvml_explain(state, 0, ret_reason);
                return state;
        }

        /* POSIX: a pointer of dlsym() is that of a function */
#define X(member, name, older, arguments) *(void **)&ret->member = find_function(ret->library, name, older);
        NVML_FUNCTIONS(X)
#undef X
        result = NVML_CALL(ret, init);
        ret->is_ready = result == NVML_SUCCESS;
        state = state_of_init(result);
        nvml_explain(state, result, ret_reason);
        if (state != GPU_STATE_OK)
                nvml_close(ret);
        return state;
}

void nvml_close(Nvml *nvml) {
        if (nvml->is_ready)
                (void)NVML_CALL(nvml, shutdown);
        if (nvml->library)
                (void)dlclose(nvml->library);
        *nvml = (Nvml){};
}
