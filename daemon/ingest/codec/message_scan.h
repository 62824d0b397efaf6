/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Message scan: checks of a message before it is unpacked
 *
 * protobuf-c returns strings that end at their first NUL byte, and does not report the rest. So the bytes are
 * scanned first, by the descriptors and without allocation. The descriptors must not be recursive, because they
 * limit the depth.
 */

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum {
        MESSAGE_SCAN_MALFORMED = 1, /* not a protobuf message */
        MESSAGE_SCAN_NUL, /* a string has a NUL byte */
};

#define MESSAGE_SCAN_PATH_MAX 200

/* 0, or an outcome; after MESSAGE_SCAN_NUL, *ret_path is the field's path in the names of the .proto file. */
int message_scan(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                 char ret_path[static MESSAGE_SCAN_PATH_MAX]);
