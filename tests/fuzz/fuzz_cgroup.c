/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: all parsers of control group files
 *
 * The sanitizers detect memory errors. The target asserts the guarantees of the parsers' headers for any text.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sample/cgroup/cgroup_devices.h"
#include "sample/cgroup/cgroup_parse.h"
#include "sample/kernel_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_files(const char *text) {
        for (CgroupFile file = 0; file < N_CGROUP_FILES; file++) {
                CgroupSample sample, before;
                int r;

                memset(&sample, 0xa5, sizeof(sample));
                sample.have = 0;
                before = sample;
                r = cgroup_parse_file(file, text, &sample);
                assert(r == 0 || r == TEXT_MALFORMED);
                assert((r == 0) == (sample.have != 0));
                assert(sample.have >> N_CGROUP_PARTS == 0);
                if (r != 0)
                        assert(memcmp(&sample, &before, sizeof(sample)) == 0);
                if (cgroup_sample_has(&sample, CGROUP_CPUSET))
                        assert(sample.n_cpus > 0);
        }
}

static void fuzz_disks(const char *text, size_t size) {
        static const CgroupFile files[] = { CGROUP_FILE_IO_STAT, CGROUP_FILE_V1_IO_BYTES, CGROUP_FILE_V1_IO_COUNTS };

        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
                CgroupDevices devices = { .block_fd = -1 };
                CgroupSample sample = {};
                const char *p = text;
                CgroupIo io;
                int r;

                while ((r = cgroup_parse_next_io(files[i], &p, &io)) == 0)
                        assert(p > text && p <= text + size && p[-1] == '\n');
                assert(r == CGROUP_TEXT_END || r == CGROUP_TEXT_MALFORMED);

                assert((cgroup_devices_sum(&devices, files[i], text, &sample) == 0) == (r == CGROUP_TEXT_END));
                assert((sample.have != 0) == (r == CGROUP_TEXT_END));
                cgroup_devices_deinit(&devices);
        }
}

static void fuzz_lines(const char *text, size_t size) {
        const char *p = text;
        CgroupLine line;
        int r;

        while ((r = cgroup_parse_next_line(&p, &line)) == 0) {
                assert(p > text && p <= text + size && p[-1] == '\n');
                assert(line.controllers + line.n_controllers + 1 == line.path);
                assert(line.path + line.n_path + 1 == p);
        }
        assert(r == CGROUP_TEXT_END || r == CGROUP_TEXT_MALFORMED);

        (void)cgroup_parse_populated(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text;

        text = malloc(size + 1);
        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';

        fuzz_files(text);
        fuzz_disks(text, strlen(text));
        fuzz_lines(text, strlen(text));

        free(text);
        return 0;
}
