/* SPDX-License-Identifier: Apache-2.0 */
#include "client/run/visible_gpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/scoped.h"

#define NUMBER_DIGITS_MAX 4U

static bool is_number(const char *word, size_t n) {
        return n > 0 && n <= NUMBER_DIGITS_MAX && strspn(word, "0123456789") >= n;
}

static bool is_uuid(const char *word, size_t n) {
        if (n <= 4 || n >= JOB_GPU_TEXT_MAX || (strncmp(word, "GPU-", 4) != 0 && strncmp(word, "MIG-", 4) != 0))
                return false;
        for (size_t i = 4; i < n; i++)
                if (!isalnum((unsigned char)word[i]) && word[i] != '-' && word[i] != '/')
                        return false;
        return true;
}

static size_t count_words(const char *words) {
        size_t n = *words != '\0';

        for (; *words; words++)
                n += *words == ',';
        return n;
}

size_t visible_gpus_parse(const char *list, const char *before, char ret[static JOB_GPUS_TEXT_MAX]) {
        const char *p = list;

        while (*p) {
                const char *word = p + strspn(p, " ");
                size_t n_all = strcspn(word, ","), n = n_all, n_ret = strlen(ret);

                while (n > 0 && word[n - 1] == ' ')
                        n--;
                if (!is_number(word, n) && !is_uuid(word, n))
                        break;
                if (count_words(ret) < JOB_GPUS_MAX)
                        (void)snprintf(ret + n_ret, JOB_GPUS_TEXT_MAX - n_ret, "%s%s%.*s", n_ret > 0 ? "," : "",
                                       is_number(word, n) ? before : "", (int)n, word);
                p = word + n_all + (word[n_all] == ',');
        }
        return (size_t)(p - list);
}

#define N_SLURM_SOURCES 2

/* Slurm's own numbers come first: others may count the GPUs of a cgroup only. */
static const struct {
        const char *variable, *before;
} sources[] = {
        { "SLURM_STEP_GPUS", JOB_GPU_MINOR },
        { "SLURM_JOB_GPUS", JOB_GPU_MINOR },
        { "CUDA_VISIBLE_DEVICES", "" },
        { "ROCR_VISIBLE_DEVICES", JOB_GPU_AMD },
        { "HIP_VISIBLE_DEVICES", JOB_GPU_AMD },
        { "NVIDIA_VISIBLE_DEVICES", "" },
};

void visible_gpus_find(char ret[static JOB_GPUS_TEXT_MAX]) {
        const char *cuda = getenv("CUDA_VISIBLE_DEVICES");
        bool is_slurm = getenv("SLURM_JOB_ID");

        ret[0] = '\0';
        if (cuda && !isdigit((unsigned char)*cuda)) /* UUIDs are clear wherever they are */
                (void)visible_gpus_parse(cuda, "", ret);
        for (size_t i = 0; i < N_ELEMENTS(sources) && !ret[0]; i++) {
                const char *list = getenv(sources[i].variable);

                if (list && (!is_slurm || i < N_SLURM_SOURCES || !isdigit((unsigned char)*list)))
                        (void)visible_gpus_parse(list, sources[i].before, ret);
        }
}
