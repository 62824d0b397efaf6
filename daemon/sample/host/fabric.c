/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fabric: ports of InfiniBand, RoCE, Omni-Path (sys/class/infiniband) and Slingshot (sys/class/cxi)
 *
 * Each file may be a command to the adapter, which takes milliseconds, or hangs if the adapter is ill: slow_reader.h.
 * The list of ports, their state and their errors are read every ten seconds; bytes and packets with each sample. A
 * driver may lack a counter, which is absent then: soft RoCE counts no bytes.
 */

#include "sample/host/equipment_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scan.h"
#include "util/utf8.h"

#define LIST_NS (10 * NS_PER_S)
#define TEXT_BYTES_MAX 4096

#define INFINIBAND "sys/class/infiniband"
#define SLINGSHOT "sys/class/cxi"

/* Indexes of the texts of a port. */
enum { TEXT_DEVICE, TEXT_LINK_LAYER, TEXT_STATE, TEXT_FIRMWARE };

/* Files of a counter by driver, of which the first that exists is read; factor: bytes are counted in words of four. */
typedef struct FabricCounter {
        size_t value;
        struct {
                const char *path;
                uint64_t factor;
        } files[3];
} FabricCounter;

#define COUNTERS "counters/"    /* of the InfiniBand specification */
#define DRIVER "hw_counters/"   /* of Linux' soft RoCE, and of the adapters of Amazon and Broadcom */
#define TELEMETRY "telemetry/hni_sts_" /* of Slingshot */

static const FabricCounter prompt[] = {
        { PORT_received_bytes,
          { { COUNTERS "port_rcv_data", 4 }, { DRIVER "rx_bytes", 1 }, { TELEMETRY "rx_ok_octets", 1 } } },
        { PORT_sent_bytes,
          { { COUNTERS "port_xmit_data", 4 }, { DRIVER "tx_bytes", 1 }, { TELEMETRY "tx_ok_octets", 1 } } },
        { PORT_received_packets,
          { { COUNTERS "port_rcv_packets", 1 }, { DRIVER "rx_pkts", 1 }, { DRIVER "rcvd_pkts", 1 } } },
        { PORT_sent_packets,
          { { COUNTERS "port_xmit_packets", 1 }, { DRIVER "tx_pkts", 1 }, { DRIVER "sent_pkts", 1 } } },
};

static const FabricCounter late[] = {
        { PORT_sent_wait_ticks, { { COUNTERS "port_xmit_wait", 1 } } },
        { PORT_received_errors, { { COUNTERS "port_rcv_errors", 1 } } },
        { PORT_sent_discards, { { COUNTERS "port_xmit_discards", 1 } } },
        { PORT_symbol_errors, { { COUNTERS "symbol_error", 1 } } },
        { PORT_link_downed, { { COUNTERS "link_downed", 1 }, { DRIVER "link_downed", 1 } } },
        { PORT_link_recovered, { { COUNTERS "link_error_recovery", 1 } } },
};

typedef struct FabricPort {
        SampleEquipment item; /* as last listed */
        struct {
                int fd; /* owned; -1: the port lacks the counter */
                uint64_t factor;
        } files[N_ELEMENTS(prompt)];
} FabricPort;

typedef struct Fabric {
        int root_fd; /* borrowed */
        FabricPort *ports; /* owned, in the order of their names */
        size_t n, n_allocated;
        uint64_t list_ns; /* time of the next list */
        int error; /* errno of the last list; 0: none */
} Fabric;

static void clear(Fabric *fabric) {
        for (size_t i = 0; i < fabric->n; i++)
                for (size_t k = 0; k < N_ELEMENTS(prompt); k++)
                        closep(&fabric->ports[i].files[k].fd);
        fabric->n = 0;
}

static void release(void *state) {
        Fabric *fabric = state;

        clear(fabric);
        free(fabric->ports);
        free(fabric);
}

/* --- counters ------------------------------------------------------------------------------------- */

/* Opens the file of a counter below the directory of its port. Returns -1 if the port lacks it. */
static int open_counter(int port_fd, const FabricCounter *counter, uint64_t *ret_factor) {
        for (size_t i = 0; i < N_ELEMENTS(counter->files) && counter->files[i].path; i++) {
                int fd = openat(port_fd, counter->files[i].path, O_RDONLY | O_CLOEXEC);

                *ret_factor = counter->files[i].factor;
                if (fd >= 0)
                        return fd;
        }
        return -1;
}

/*
 * Sets a value: "123\n", or with a time, "123@1699999999.5\n". A counter of 32 bits stops at its highest value: what it
 * stands for is unknown then.
 */
static void read_counter(int fd, uint64_t factor, size_t value, SampleEquipment *item) {
        char text[64];
        ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;
        const char *end;
        uint64_t v;

        if (n <= 0)
                return;
        text[n] = '\0';
        end = scan_u64(text, &v);
        if (end && (*end == '\n' || *end == '@') && v != UINT32_MAX && v <= UINT64_MAX / factor)
                equipment_set(item, value, v * factor);
}

/* --- the list ------------------------------------------------------------------------------------- */

/* Returns the first line of a file without its newline, or NULL. Caller frees. */
static char *read_line(int port_fd, const char *path) {
        char *text = file_read_text(port_fd, path, TEXT_BYTES_MAX);

        if (text)
                text[strcspn(text, "\n")] = '\0';
        return text;
}

static void put_text(SampleEquipment *item, size_t i, const char *text) {
        utf8_copy(item->texts[i], sizeof(item->texts[i]), text ? text : "");
}

/* Returns the words of "4: ACTIVE". */
static const char *words_of(const char *text) {
        const char *colon = text ? strstr(text, ": ") : NULL;

        return colon ? colon + 2 : text ? text : "";
}

/* Parses "100 Gb/sec (4X EDR)" and "2.5 Gb/sec (1X SDR)", of which a tenth is 12.5 MB. */
static void put_rate(SampleEquipment *item, const char *text) {
        uint64_t units, tenths = 0;
        const char *p = text ? scan_u64(text, &units) : NULL;

        if (p && p[0] == '.' && p[1] >= '0' && p[1] <= '9') {
                tenths = (uint64_t)(p[1] - '0');
                p += 2;
        }
        if (p && strncmp(p, " Gb/sec", 7) == 0 && units > 0 && units < 1000000)
                equipment_set(item, PORT_rate_bytes_per_s, (units * 10 + tenths) * 12500000);
}

static void describe_port(int port_fd, SampleEquipment *item) {
        scoped(freep) char *layer = read_line(port_fd, "link_layer"), *state = read_line(port_fd, "state");
        scoped(freep) char *physical = read_line(port_fd, "phys_state"), *rate = read_line(port_fd, "rate");
        scoped(freep) char *firmware = read_line(port_fd, "../../fw_ver");
        bool is_active = state && state[0] == '4';

        put_text(item, TEXT_LINK_LAYER, layer);
        put_text(item, TEXT_FIRMWARE, firmware);
        put_text(item, TEXT_STATE, words_of(state));
        if (state && !is_active && physical)
                (void)snprintf(item->texts[TEXT_STATE], sizeof(item->texts[TEXT_STATE]), "%.32s, %.32s",
                               words_of(state), words_of(physical));
        if (state)
                equipment_set(item, PORT_is_active, is_active);
        put_rate(item, rate);
}

static void describe_slingshot(int port_fd, SampleEquipment *item) {
        scoped(freep) char *link = read_line(port_fd, "properties/link"), *firmware = read_line(port_fd, "uc/version");
        scoped(freep) char *rate = read_line(port_fd, "properties/speed");
        uint64_t mbit_per_s;

        put_text(item, TEXT_LINK_LAYER, "Slingshot");
        put_text(item, TEXT_FIRMWARE, firmware);
        if (link) {
                put_text(item, TEXT_STATE, link[0] == '1' ? "ACTIVE" : "DOWN");
                equipment_set(item, PORT_is_active, link[0] == '1');
        }
        if (rate && scan_u64(rate, &mbit_per_s) && mbit_per_s > 0 && mbit_per_s < UINT32_MAX)
                equipment_set(item, PORT_rate_bytes_per_s, mbit_per_s * 125000);
}

/* Adds the port with this directory. number: of the port, or NULL for one of Slingshot. */
static int add_port(Fabric *fabric, const char *device, const char *number, const char *path) {
        scoped(closep) int port_fd = openat(fabric->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        SampleEquipment *item;
        FabricPort *port;

        if (port_fd < 0)
                fabric->error = errno;
        if (port_fd < 0 || fabric->n > EQUIPMENT_PORT_MAX)
                return 0;
        if (ARRAY_RESERVE(fabric->ports, fabric->n_allocated, fabric->n + 1) < 0)
                return -ENOMEM;

        port = &fabric->ports[fabric->n++];
        *port = (FabricPort){ .item = { .kind = EQUIPMENT_PORT, .is_counted = true } };
        item = &port->item;
        (void)snprintf(item->name, sizeof(item->name), "%.60s%s%.8s", device, number ? ":" : "", number ? number : "");
        put_text(item, TEXT_DEVICE, device);
        (number ? describe_port : describe_slingshot)(port_fd, item);
        for (size_t i = 0; i < N_ELEMENTS(prompt); i++)
                port->files[i].fd = open_counter(port_fd, &prompt[i], &port->files[i].factor);
        for (size_t i = 0; i < N_ELEMENTS(late); i++) {
                uint64_t factor = 1;
                scoped(closep) int fd = open_counter(port_fd, &late[i], &factor);

                read_counter(fd, factor, late[i].value, item);
        }
        return 0;
}

/* Adds the ports in a directory. device: whose ports they are; NULL: those of Slingshot. */
static int add_ports(Fabric *fabric, const char *folder, const char *device) {
        scoped(closedirp) DIR *list = file_open_list(fabric->root_fd, folder);
        const struct dirent *entry;
        char path[PATH_MAX];
        int r = 0;

        if (!list && errno != ENOENT)
                fabric->error = errno;
        while (list && r == 0 && (entry = readdir(list))) {
                if (entry->d_name[0] == '.')
                        continue;
                (void)snprintf(path, sizeof(path), "%s/%s%s", folder, entry->d_name, device ? "" : "/device");
                r = add_port(fabric, device ? device : entry->d_name, device ? entry->d_name : NULL, path);
        }
        return r;
}

static int compare_ports(const void *a, const void *b) {
        return strverscmp(((const FabricPort *)a)->item.name, ((const FabricPort *)b)->item.name);
}

static int list_ports(Fabric *fabric) {
        scoped(closedirp) DIR *list = file_open_list(fabric->root_fd, INFINIBAND);
        const struct dirent *entry;
        char path[PATH_MAX];
        int r;

        clear(fabric);
        fabric->error = list || errno == ENOENT ? 0 : errno;
        r = add_ports(fabric, SLINGSHOT, NULL);
        while (list && r == 0 && (entry = readdir(list))) {
                if (entry->d_name[0] == '.')
                        continue;
                (void)snprintf(path, sizeof(path), INFINIBAND "/%s/ports", entry->d_name);
                r = add_ports(fabric, path, entry->d_name);
        }
        if (fabric->n > 0)
                qsort(fabric->ports, fabric->n, sizeof(*fabric->ports), compare_ports);
        return r;
}

/* --- reading -------------------------------------------------------------------------------------- */

static int add_item(const FabricPort *port, Sample *sample) {
        SampleEquipment *item;
        int r = equipment_add(&sample->equipment, EQUIPMENT_PORT, port->item.name, &item);

        if (r != 0)
                return r;
        *item = port->item;
        for (size_t i = 0; i < N_ELEMENTS(prompt); i++)
                read_counter(port->files[i].fd, port->files[i].factor, prompt[i].value, item);
        return 0;
}

/* Without a port that is there, the sums would be wrong. */
static int read_ports(void *state, Sample *sample, const char **ret_fault) {
        Fabric *fabric = state;
        int r = 0;

        if (sample->boottime_ns >= fabric->list_ns) {
                r = list_ports(fabric);
                if (r < 0)
                        return r;
                fabric->list_ns = sample->boottime_ns + LIST_NS;
        }
        for (size_t i = 0; i < fabric->n && r == 0; i++)
                r = add_item(&fabric->ports[i], sample);
        *ret_fault = fabric->error ? error_text(fabric->error) : "too many ports";
        if (r == EQUIPMENT_FULL || (fabric->error && r == 0))
                return EQUIPMENT_FAILED;
        return r == 0 && fabric->n == 0 ? EQUIPMENT_NONE : r;
}

const EquipmentReader fabric_reader = {
        .driver = "the driver of a port", EQUIPMENT_STATE(Fabric), .free = release, .read = read_ports
};
