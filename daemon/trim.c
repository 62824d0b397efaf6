/* SPDX-License-Identifier: Apache-2.0 */
#include "trim.h"

#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that were never writable are the same as in the file: nothing is lost by dropping them. */
static int on_object(struct dl_phdr_info *info, size_t size, void *userdata) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

        (void)size;
        (void)userdata;
        for (size_t i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                uintptr_t begin = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
                uintptr_t end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);

                if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
                        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
        }

        return 0;
}

void trim_loaded_objects(void) {
        (void)dl_iterate_phdr(on_object, NULL);
        (void)malloc_trim(0);
}
