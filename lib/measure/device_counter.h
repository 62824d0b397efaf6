/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Counters that the kernel keeps for each disk and each interface
 *
 * A row defines all properties of a counter except its position in the kernel's text. Each row becomes a member of
 * SampleDisk or SampleNet, a family of /metrics and a member of the JSON API. To add a counter: add a row here and
 * read the value in daemon/sample/host/.
 *
 *   X(member, decimals, family, family_unit, help, max_per_s, wrap_unit, wrap_max_per_s)
 *
 * The kernel counts in units of 10^-decimals of the base unit; bytes of a disk are sectors × 512. `family` is the
 * OpenMetrics family, without prefix and _total. The Account keeps the value of each device in its record, as
 * `member`. max_per_s is the highest rate of any disk, and of an interface that of each byte per second of its link.
 * `wrap_unit` and `wrap_max_per_s` are those of a CounterLimit: the block layer counts in unsigned long, so that
 * sectors and requests wrap at 2^32 on a 32-bit kernel, and the time in unsigned int on all.
 * tests/unit/test_sampler.c fails for a counter that is not read.
 */

#define DISK_MAX_PER_S 64e9 /* bytes */
#define NET_MAX_PER_S 50e9  /* bytes: 400 Gbit/s */

#define DISK_COUNTERS(X) \
        X(read_bytes,  0, "disk_read_bytes",    "bytes", "Bytes read from the device",    DISK_MAX_PER_S, 512, UINT64_C(1) << 31) \
        X(write_bytes, 0, "disk_written_bytes", "bytes", "Bytes written to the device",   DISK_MAX_PER_S, 512, UINT64_C(1) << 31) \
        X(reads,       0, "disk_reads",         "",      "Completed reads",               DISK_MAX_PER_S / 512, 1, UINT64_C(1) << 21) \
        X(writes,      0, "disk_writes",        "",      "Completed writes",              DISK_MAX_PER_S / 512, 1, UINT64_C(1) << 21) \
        X(io_ms,       3, "disk_io_seconds",    "seconds", "Time with at least one request in flight", 1000, 1, 1000)

#define NET_COUNTERS(X) \
        X(received_bytes,   0, "network_received_bytes",   "bytes", "Bytes received by the interface", 1, 1, UINT64_C(1) << 31) \
        X(sent_bytes,       0, "network_sent_bytes",       "bytes", "Bytes sent by the interface",     1, 1, UINT64_C(1) << 31) \
        X(received_packets, 0, "network_received_packets", "", "Packets received",                     1. / 16, 1, UINT64_C(1) << 27) \
        X(sent_packets,     0, "network_sent_packets",     "", "Packets sent",                         1. / 16, 1, UINT64_C(1) << 27) \
        X(received_errors,  0, "network_receive_errors",   "", "Bad packets received",                 1. / 16, 1, UINT64_C(1) << 27) \
        X(sent_errors,      0, "network_send_errors",      "", "Packets that could not be sent",       1. / 16, 1, UINT64_C(1) << 27)

/*
 * Totals of the node: the sum of a counter over the devices of a class
 *
 *   X(ID, class, member)
 *
 * The metrics of a window are computed from these totals, see metric.h.
 */

#define DISK_TOTALS(X) \
        X(DISK_READ_BYTES,       PHYSICAL, read_bytes) \
        X(DISK_WRITE_BYTES,      PHYSICAL, write_bytes) \
        X(DISK_READS,            PHYSICAL, reads) \
        X(DISK_WRITES,           PHYSICAL, writes) \
        X(VIRT_DISK_READ_BYTES,  VIRTUAL,  read_bytes) \
        X(VIRT_DISK_WRITE_BYTES, VIRTUAL,  write_bytes)

#define NET_TOTALS(X) \
        X(NET_LO_SENT_BYTES,     LOOPBACK, sent_bytes) \
        X(NET_LO_RECV_BYTES,     LOOPBACK, received_bytes) \
        X(NET_SENT_BYTES,        PHYSICAL, sent_bytes) \
        X(NET_RECV_BYTES,        PHYSICAL, received_bytes) \
        X(NET_VIRT_SENT_BYTES,   VIRTUAL,  sent_bytes) \
        X(NET_VIRT_RECV_BYTES,   VIRTUAL,  received_bytes)

/*
 * Counters of perf.py's samples, in its order
 *
 *   X(ID, source, metric, devices, is_included, member, field)
 *
 * A sample has the total ID, and what psutil reports: the sum since boot of a member of all devices for which
 * is_included is true. `field` is perf.py's name of the latter, and the metric its highest value.
 */

#define PERFPY_COUNTERS(X) \
        X(DISK_READ_BYTES,   DISKSTATS, DISK_READ,    disks, true,                            read_bytes,     "disk_io_read_mb") \
        X(DISK_WRITE_BYTES,  DISKSTATS, DISK_WRITE,   disks, true,                            write_bytes,    "disk_io_write_mb") \
        X(NET_LO_SENT_BYTES, NETDEV,    NET_LO_SENT,  nets,  (device->class == NET_LOOPBACK), sent_bytes,     "net_io_lo_sent_mb") \
        X(NET_SENT_BYTES,    NETDEV,    NET_EXT_SENT, nets,  (device->class != NET_LOOPBACK), sent_bytes,     "net_io_ext_sent_mb") \
        X(NET_LO_RECV_BYTES, NETDEV,    NET_LO_RECV,  nets,  (device->class == NET_LOOPBACK), received_bytes, "net_io_lo_recv_mb") \
        X(NET_RECV_BYTES,    NETDEV,    NET_EXT_RECV, nets,  (device->class != NET_LOOPBACK), received_bytes, "net_io_ext_recv_mb")

typedef enum PerfpyCounter {
#define X(id, ...) PERFPY_##id,
        PERFPY_COUNTERS(X)
#undef X
        N_PERFPY_COUNTERS,
} PerfpyCounter;

/*
 * Rates of an observation, in bytes per second
 *
 *   X(name, series, ID, source)
 *
 * The rate of the total ID is recorded as a series of timeline.h; its key in the JSON API is name_bytes_per_second.
 */
#define IO_RATES(X) \
        X(disk_read,        DISK_READ,    DISK_READ_BYTES,  DISKSTATS) \
        X(disk_written,     DISK_WRITE,   DISK_WRITE_BYTES, DISKSTATS) \
        X(network_sent,     NET_SENT,     NET_SENT_BYTES,   NETDEV) \
        X(network_received, NET_RECEIVED, NET_RECV_BYTES,   NETDEV)

/* Indexes of the members in Device.counters. */
enum {
#define X(member, ...) DISK_COUNTER_##member,
        DISK_COUNTERS(X)
#undef X
        N_DISK_COUNTERS,
};

enum {
#define X(member, ...) NET_COUNTER_##member,
        NET_COUNTERS(X)
#undef X
        N_NET_COUNTERS,
};
