/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equipment: what only some nodes have: GPUs, ports of a fabric, network file systems, energy meters
 *
 * A kind is a row of EQUIPMENT_KINDS, a value that its items have is a row of its KIND_VALUES, and a value that is
 * summed up over the node is a row of EQUIPMENT_TOTALS as well. The sample, the account, /metrics and the JSON API use
 * these rows. To add a kind: add its rows here, and a reader to the table in daemon/sample/host/equipment_readers.c.
 *
 *   EQUIPMENT_KINDS   X(ID, source, max, list, label, help, texts...)
 *                     A sample has at most `max` items; a reader says that there are more, or adds those beyond up.
 *                     `list` is the member of the JSON API, `label` the label of an item's name; `texts` are the names
 *                     of what describes an item, labels of the family …_info
 *   KIND_VALUES       X(KIND, member, type, decimals, family, unit, help, max_per_s)
 *                     as in device_counter.h; the value is in units of 10^-decimals of the base unit. A value that only
 *                     counts while something is measured has a counter of that time beside it
 *   EQUIPMENT_TOTALS  X(ID, KIND, member): of the items that are counted, see SampleEquipment
 *
 * An item that lacks a value has no bit for it in `have`: absent is not 0. A node without equipment of a kind has no
 * item, and its source is in EquipmentList.none: such a node has no metric, no series and no member of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/record.h"
#include "measure/counter.h"
#include "measure/source.h"

#define EQUIPMENT_NAME_MAX 128
#define EQUIPMENT_TEXTS_MAX 5
#define EQUIPMENT_TEXT_MAX 96

#define EQUIPMENT_KINDS(X)                                                                                 \
        X(GPU,    GPU,    128, "gpus",                "gpu",        "GPUs", "uuid", "model", "driver", "parent", "state") \
        X(PORT,   FABRIC, 256, "fabric_ports",        "port",       "Ports of InfiniBand, RoCE, Omni-Path and Slingshot", "device", "link_layer", "state", "firmware") \
        X(NETFS,  NETFS,  65,  "network_filesystems", "mountpoint", "Network file systems", "fstype", "source", "error") \
        X(ENERGY, ENERGY, 256, "energy_meters",       "meter",      "Meters of energy (RAPL)", "part")

/*
 * Times are integrals of a share. Values of the streaming multiprocessors (SM) are known while `sm_observed` grows;
 * `present` grows as long as the GPU is there.
 */
#define GPU_VALUES(X) \
        X(GPU, present_us,         COUNTER, 6, "gpu_present_seconds",               "seconds", "Time in which the GPU was there", 1e6) \
        X(GPU, utilized_us,        COUNTER, 6, "gpu_utilized_seconds",              "seconds", "Time in which a kernel ran, whatever part of the GPU it used (utilization of nvidia-smi)", 1e6) \
        X(GPU, sm_observed_us,     COUNTER, 6, "gpu_sm_observed_seconds",           "seconds", "Time in which the activity of the multiprocessors was measured", 1e6) \
        X(GPU, sm_active_us,       COUNTER, 6, "gpu_sm_active_seconds",             "seconds", "Activity of the multiprocessors over time, mean of all", 1e6) \
        X(GPU, sm_occupancy_us,    COUNTER, 6, "gpu_sm_occupancy_seconds",          "seconds", "Resident warps as a share of the possible ones, over time", 1e6) \
        X(GPU, tensor_active_us,   COUNTER, 6, "gpu_tensor_active_seconds",         "seconds", "Activity of the tensor cores over time", 1e6) \
        X(GPU, dram_active_us,     COUNTER, 6, "gpu_dram_active_seconds",           "seconds", "Use of the bandwidth of the GPU's memory over time", 1e6) \
        X(GPU, sm_over20_us,       COUNTER, 6, "gpu_sm_over20_seconds",             "seconds", "Time in which the multiprocessors were active by at least 20 %", 1e6) \
        X(GPU, sm_over40_us,       COUNTER, 6, "gpu_sm_over40_seconds",             "seconds", "Time in which the multiprocessors were active by at least 40 %", 1e6) \
        X(GPU, sm_over80_us,       COUNTER, 6, "gpu_sm_over80_seconds",             "seconds", "Time in which the multiprocessors were active by at least 80 %", 1e6) \
        X(GPU, power_throttled_us, COUNTER, 6, "gpu_power_throttled_seconds",       "seconds", "Time in which the clock was lowered because of power", 1e6) \
        X(GPU, heat_throttled_us,  COUNTER, 6, "gpu_heat_throttled_seconds",        "seconds", "Time in which the clock was lowered because of temperature", 1e6) \
        X(GPU, energy_mj,          COUNTER, 3, "gpu_energy_joules",                 "joules",  "Energy", 4e6) \
        X(GPU, pcie_sent_bytes,    COUNTER, 0, "gpu_pcie_sent_bytes",               "bytes",   "Bytes sent over PCIe", 256e9) \
        X(GPU, pcie_received_bytes, COUNTER, 0, "gpu_pcie_received_bytes",          "bytes",   "Bytes received over PCIe", 256e9) \
        X(GPU, nvlink_sent_bytes,  COUNTER, 0, "gpu_nvlink_sent_bytes",             "bytes",   "Bytes sent over NVLink", 4e12) \
        X(GPU, nvlink_received_bytes, COUNTER, 0, "gpu_nvlink_received_bytes",      "bytes",   "Bytes received over NVLink", 4e12) \
        X(GPU, ecc_corrected,      COUNTER, 0, "gpu_ecc_corrected_errors",          "",        "Memory errors that were corrected", 1e6) \
        X(GPU, ecc_uncorrected,    COUNTER, 0, "gpu_ecc_uncorrected_errors",        "",        "Memory errors that could not be corrected", 1e6) \
        X(GPU, xid_errors,         COUNTER, 0, "gpu_xid_errors",                    "",        "Errors that the driver reported (XID)", 1e6) \
        X(GPU, memory_total_bytes, GAUGE,   0, "gpu_memory_total_bytes",            "bytes",   "Memory of the GPU", 0) \
        X(GPU, memory_used_bytes,  GAUGE,   0, "gpu_memory_used_bytes",             "bytes",   "Memory in use", 0) \
        X(GPU, sm_active,          GAUGE,   4, "gpu_sm_active_ratio",               "ratio",   "Activity of the multiprocessors in the last second", 0) \
        X(GPU, utilization,        GAUGE,   4, "gpu_utilization_ratio",             "ratio",   "Share of the last sampling period in which a kernel ran (utilization of nvidia-smi)", 0) \
        X(GPU, power_mw,           GAUGE,   3, "gpu_power_watts",                   "watts",   "Power", 0) \
        X(GPU, power_limit_mw,     GAUGE,   3, "gpu_power_limit_watts",             "watts",   "Power above which the clock is lowered", 0) \
        X(GPU, temperature_mc,     GAUGE,   3, "gpu_temperature_celsius",           "celsius", "Temperature", 0) \
        X(GPU, sm_clock_hz,        GAUGE,   0, "gpu_sm_clock_hertz",                "hertz",   "Clock of the multiprocessors", 0) \
        X(GPU, sm_clock_max_hz,    GAUGE,   0, "gpu_sm_clock_max_hertz",            "hertz",   "Highest clock of the multiprocessors", 0) \
        X(GPU, remapped_rows,      GAUGE,   0, "gpu_remapped_rows",                 "",        "Rows of memory that were replaced", 0)

#define PORT_VALUES(X) \
        X(PORT, received_bytes,    COUNTER, 0, "fabric_received_bytes",         "bytes",   "Bytes received by the port", 200e9) \
        X(PORT, sent_bytes,        COUNTER, 0, "fabric_sent_bytes",             "bytes",   "Bytes sent by the port", 200e9) \
        X(PORT, received_packets,  COUNTER, 0, "fabric_received_packets",       "",        "Packets received", 4e9) \
        X(PORT, sent_packets,      COUNTER, 0, "fabric_sent_packets",           "",        "Packets sent", 4e9) \
        X(PORT, sent_wait_ticks,   COUNTER, 0, "fabric_send_wait_ticks",        "",        "Ticks of the port's clock in which data waited to be sent", 4e9) \
        X(PORT, received_errors,   COUNTER, 0, "fabric_receive_errors",         "",        "Packets received with an error", 4e9) \
        X(PORT, sent_discards,     COUNTER, 0, "fabric_send_discards",          "",        "Packets that were not sent", 4e9) \
        X(PORT, symbol_errors,     COUNTER, 0, "fabric_symbol_errors",          "",        "Symbol errors on the link", 4e9) \
        X(PORT, link_downed,       COUNTER, 0, "fabric_link_downs",             "",        "Times the link went down", 1e3) \
        X(PORT, link_recovered,    COUNTER, 0, "fabric_link_recoveries",        "",        "Times the link recovered from an error", 1e3) \
        X(PORT, is_active,         GAUGE,   0, "fabric_active",                 "",        "1 if the link is active", 0) \
        X(PORT, rate_bytes_per_s,  GAUGE,   0, "fabric_rate_bytes_per_second",  "",        "Rate of the link", 0)

#define NETFS_VALUES(X) \
        X(NETFS, read_bytes,       COUNTER, 0, "netfs_read_bytes",              "bytes",   "Bytes read from the server", 200e9) \
        X(NETFS, write_bytes,      COUNTER, 0, "netfs_written_bytes",           "bytes",   "Bytes written to the server", 200e9) \
        X(NETFS, reads,            COUNTER, 0, "netfs_reads",                   "",        "Reads answered by the server", 1e7) \
        X(NETFS, writes,           COUNTER, 0, "netfs_writes",                  "",        "Writes answered by the server", 1e7) \
        X(NETFS, metadata_operations, COUNTER, 0, "netfs_metadata_operations",  "",        "Other operations: open, look up, attributes, directories", 1e7) \
        X(NETFS, retransmissions,  COUNTER, 0, "netfs_retransmissions",         "",        "Requests that were sent again", 1e7) \
        X(NETFS, read_us,          COUNTER, 6, "netfs_read_wait_seconds",       "seconds", "Time that reads took, summed up", 1e12) \
        X(NETFS, write_us,         COUNTER, 6, "netfs_write_wait_seconds",      "seconds", "Time that writes took, summed up", 1e12)

#define ENERGY_VALUES(X) \
        X(ENERGY, energy_uj,       COUNTER, 6, "energy_joules",                 "joules",  "Energy", 1e10)

#define EQUIPMENT_VALUES(X) GPU_VALUES(X) PORT_VALUES(X) NETFS_VALUES(X) ENERGY_VALUES(X)

#define EQUIPMENT_TOTALS(X) \
        X(GPU_PRESENT_US,      GPU,    present_us) \
        X(GPU_UTILIZED_US,     GPU,    utilized_us) \
        X(GPU_SM_OBSERVED_US,  GPU,    sm_observed_us) \
        X(GPU_SM_ACTIVE_US,    GPU,    sm_active_us) \
        X(GPU_ENERGY_MJ,       GPU,    energy_mj) \
        X(FABRIC_SENT_BYTES,   PORT,   sent_bytes) \
        X(FABRIC_RECV_BYTES,   PORT,   received_bytes) \
        X(NETFS_READ_BYTES,    NETFS,  read_bytes) \
        X(NETFS_WRITE_BYTES,   NETFS,  write_bytes) \
        X(NETFS_READS,         NETFS,  reads) \
        X(NETFS_WRITES,        NETFS,  writes) \
        X(NETFS_METADATA,      NETFS,  metadata_operations) \
        X(NETFS_RETRANSMITTED, NETFS,  retransmissions) \
        X(NETFS_READ_US,       NETFS,  read_us) \
        X(NETFS_WRITE_US,      NETFS,  write_us) \
        X(ENERGY_UJ,           ENERGY, energy_uj)

/*
 * Rates of an observation, and their series in the history of the node
 *
 *   X(name, series, ID, source, per_unit, key)
 *
 * The rate of the total ID, of which per_unit are one unit per second, has the member `key` of the JSON API.
 */
#define EQUIPMENT_RATES(X) \
        X(fabric_sent,     FABRIC_SENT,     FABRIC_SENT_BYTES, FABRIC, 1,   "fabric_sent_bytes_per_second")     \
        X(fabric_received, FABRIC_RECEIVED, FABRIC_RECV_BYTES, FABRIC, 1,   "fabric_received_bytes_per_second") \
        X(netfs_read,      NETFS_READ,      NETFS_READ_BYTES,  NETFS,  1,   "netfs_read_bytes_per_second")      \
        X(netfs_written,   NETFS_WRITTEN,   NETFS_WRITE_BYTES, NETFS,  1,   "netfs_written_bytes_per_second")   \
        X(power,           POWER,           ENERGY_UJ,         ENERGY, 1e6, "power_watts")

/*
 * Sums of gauges over GPUs in an observation, and their series: of the node, and of a job in its timeline. A difference
 * of counters would jump where samples are closer than the readings, which come once a second.
 *
 *   X(ID, member, per_unit, key)     SERIES_ID; the sum has the member `key` of the JSON API
 */
#define GPU_SUMS(X) \
        X(GPUS_ACTIVE,   sm_active,         1e4, "gpus_active")     \
        X(GPUS_UTILIZED, utilization,       1e4, "gpus_utilized")   \
        X(GPU_POWER,     power_mw,          1e3, "gpu_power_watts") \
        X(GPU_MEMORY,    memory_used_bytes, 1,   "gpu_memory_used_bytes")

typedef enum GpuSum {
#define X(id, ...) SUM_##id,
        GPU_SUMS(X)
#undef X
        N_GPU_SUMS,
} GpuSum;

typedef enum EquipmentKind {
#define X(id, ...) EQUIPMENT_##id,
        EQUIPMENT_KINDS(X)
#undef X
        N_EQUIPMENT_KINDS,
} EquipmentKind;

/* Indexes of the values of each kind: GPU_present_us, PORT_sent_bytes, …. */
#define EQUIPMENT_INDEX(kind, member, ...) kind##_##member,
enum { GPU_VALUES(EQUIPMENT_INDEX) N_GPU_VALUES };
enum { PORT_VALUES(EQUIPMENT_INDEX) N_PORT_VALUES };
enum { NETFS_VALUES(EQUIPMENT_INDEX) N_NETFS_VALUES };
enum { ENERGY_VALUES(EQUIPMENT_INDEX) N_ENERGY_VALUES };
#undef EQUIPMENT_INDEX

#define EQUIPMENT_VALUES_MAX 32U
_Static_assert(N_GPU_VALUES <= EQUIPMENT_VALUES_MAX && N_PORT_VALUES <= EQUIPMENT_VALUES_MAX &&
                       N_NETFS_VALUES <= EQUIPMENT_VALUES_MAX && N_ENERGY_VALUES <= EQUIPMENT_VALUES_MAX,
               "a bit of `have` for each value");

/* Items of each kind in a sample. */
enum {
#define X(id, source, max, ...) EQUIPMENT_##id##_MAX = max,
        EQUIPMENT_KINDS(X)
#undef X
};

typedef enum EquipmentType {
        EQUIPMENT_COUNTER,
        EQUIPMENT_GAUGE,
} EquipmentType;

typedef struct EquipmentValue {
        const char *member;
        EquipmentType type;
        unsigned n_decimals;
        const char *family, *unit, *help; /* of OpenMetrics, without prefix and _total */
        double max_per_s;                 /* of a counter */
} EquipmentValue;

typedef struct EquipmentKindInfo {
        Source source;
        size_t n_max; /* items in a sample */
        const char *list, *label, *help;
        const char *texts[EQUIPMENT_TEXTS_MAX]; /* NULL behind the last */
        const EquipmentValue *values;
        size_t n_values;
} EquipmentKindInfo;

extern const EquipmentKindInfo equipment_kinds[N_EQUIPMENT_KINDS];

/* An item of a sample: a GPU, a port, …. */
typedef struct SampleEquipment {
        EquipmentKind kind;
        /*
         * false: not in the node's totals, because another item contains it: an instance of a GPU, a part of a package.
         * Its own values are complete
         */
        bool is_counted;
        bool is_new; /* its counters began at 0 after the sample before: they count from there */
        /* of an item whose counter wraps: the width, and the most that it counts in a second; 0: it does not wrap */
        uint64_t width;
        double max_per_s;
        char name[EQUIPMENT_NAME_MAX];
        char texts[EQUIPMENT_TEXTS_MAX][EQUIPMENT_TEXT_MAX]; /* "": unknown */
        uint32_t have;                                       /* bit per value */
        uint64_t values[EQUIPMENT_VALUES_MAX];
} SampleEquipment;

static inline bool equipment_has(const SampleEquipment *item, size_t value) {
        return item->have & (UINT32_C(1) << value);
}

static inline void equipment_set(SampleEquipment *item, size_t value, uint64_t v) {
        item->values[value] = v;
        item->have |= UINT32_C(1) << value;
}

extern const struct GpuSumInfo {
        size_t value;
        double per_unit;
        const char *key;
} equipment_gpu_sums[N_GPU_SUMS];

/* Returns the GPU's part of a sum; NAN: unknown. */
double equipment_gpu_part(const SampleEquipment *gpu, GpuSum sum);

typedef struct EquipmentList {
        SampleEquipment *items; /* owned */
        size_t n, n_allocated;
        uint32_t none; /* bit per Source of which the node has no equipment: not read, and no failure */
        uint64_t read_ns[N_SOURCES]; /* time of the items; 0: that of the sample */
} EquipmentList;

enum {
        EQUIPMENT_FULL = 1,
};
/*
 * Adds an item without values; a longer name is cut. Returns 0, EQUIPMENT_FULL (of this kind) or -ENOMEM. *ret is
 * borrowed until the next item.
 */
int equipment_add(EquipmentList *list, EquipmentKind kind, const char *name, SampleEquipment **ret);

/*
 * Equipment table: counters of the node's equipment of one kind, tracked by name. An item counts
 * from its first reading, which may include what it counted before. One that disappears is kept as long as there is
 * room: a GPU that was lost and a file system that is mounted again continue.
 */
typedef struct EquipmentItem {
        char name[EQUIPMENT_NAME_MAX];
        uint64_t read_ns;                       /* time of the last reading, CLOCK_BOOTTIME */
        Counter counters[EQUIPMENT_VALUES_MAX]; /* of the values that are counters */
} EquipmentItem;

/* Initialize with zeros. */
typedef struct EquipmentTable {
        EquipmentItem *items; /* owned */
        size_t n, n_allocated;
        size_t next; /* expected index of the next item: the order rarely changes */
} EquipmentTable;

void equipment_table_deinit(EquipmentTable *table);
/* Allocates entries for n more items, and drops those that have been gone longest if there are too many. Returns 0 or
 * -ENOMEM. */
int equipment_table_reserve(EquipmentTable *table, EquipmentKind kind, size_t n);
/* Returns the entry of an item, which is added if there is none. Call equipment_table_reserve() before. */
EquipmentItem *equipment_table_take(EquipmentTable *table, const char *name, uint64_t now_ns);
/* Continues a table from its record. */
void equipment_table_resume(EquipmentTable *table);

/* The records of the tables, one for each kind. */
extern const Record equipment_table_records[N_EQUIPMENT_KINDS];
