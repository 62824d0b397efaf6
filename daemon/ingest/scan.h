/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scan: what must hold before a message may be unpacked
 *
 * protobuf-c recurses as deep as messages are nested, and hands out strings that end at
 * the first NUL. Both are a sender's to choose, so they are looked at first: one pass
 * over the bytes along the descriptors, without allocation, with its own bound on depth.
 */

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SCAN_MALFORMED = 1, /* no protobuf message */
        SCAN_TOO_DEEP,
        SCAN_NUL, /* a string with a NUL inside */
};

#define SCAN_PATH_MAX 200

/* 0, or an outcome; after SCAN_NUL and SCAN_TOO_DEEP *ret_path names the field as the .proto file does. */
int scan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes, size_t n,
                 unsigned depth_max, char ret_path[static SCAN_PATH_MAX]);
