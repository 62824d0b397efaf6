/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scan: checks of a message before it is unpacked
 *
 * protobuf-c returns strings that end at their first NUL byte, and does not report the rest. So the bytes are scanned first, by
 * the descriptors and without allocation. The descriptors must not be recursive, because they limit the depth.
 */

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SCAN_MALFORMED = 1, /* not a protobuf message */
        SCAN_NUL, /* a string has a NUL byte */
};

#define SCAN_PATH_MAX 200

/* 0, or an outcome; after SCAN_NUL, *ret_path is the field's path in the names of the .proto file. */
int scan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                 char ret_path[static SCAN_PATH_MAX]);
