/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equipment reader: what a file that reads equipment has to offer
 *
 * A reader keeps its state between the ticks: open files, lists that are made again only now and then.
 */

#include <stddef.h>

#include "measure/sample.h"

enum {
        EQUIPMENT_NONE = 1, /* the node has no such equipment */
        EQUIPMENT_FAILED,   /* it has, but it cannot be read: *ret_fault says why, a static text or one of the reader */
};

typedef struct EquipmentReader {
        /* NULL; or what may not answer, as a message names it: the functions are called by slow_reader.h */
        const char *driver;
        uint64_t distance_ns; /* readings of a driver are no closer */
        /* of the state, which is zero at first, and the offset of its descriptor of the root directory, borrowed */
        size_t n_bytes, root_fd;
        void (*prepare)(void *state, const char *root); /* or NULL; root: prefix of paths, "" for the machine itself */
        void (*free)(void *state);
        /* Adds the items to the sample; those of a reader that fails are dropped. Returns 0, an outcome, or -ENOMEM. */
        int (*read)(void *state, Sample *sample, const char **ret_fault);
} EquipmentReader;

/* Sets n_bytes and root_fd. */
#define EQUIPMENT_STATE(Type) .n_bytes = sizeof(Type), .root_fd = offsetof(Type, root_fd)

/* Makes the state of a reader. Returns 0 or -ENOMEM. */
int equipment_reader_new(const EquipmentReader *reader, void **ret, const char *root, int root_fd);

/* Each in the file of its name, which says what it reads. */
extern const EquipmentReader amdgpu_reader, fabric_reader, netfs_reader, nvidia_reader, rapl_reader;
