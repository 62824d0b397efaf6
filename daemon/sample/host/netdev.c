/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/host/netdev.h"

#include <fcntl.h>

#include "sample/kernel_text.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/scan.h"

#define TYPE_LOOPBACK 772 /* ARPHRD_LOOPBACK */

/* Each direction has eight columns; of the sent ones, the first three are read. */
enum {
        COLUMN_RECEIVED_BYTES,
        COLUMN_RECEIVED_PACKETS,
        COLUMN_RECEIVED_ERRORS,
        COLUMN_SENT_BYTES = 8,
        COLUMN_SENT_PACKETS,
        COLUMN_SENT_ERRORS,
        N_COLUMNS,
};

/* Returns the position after the two header lines, or NULL. */
static const char *skip_headings(const char *p) {
        p = kernel_text_skip(p, "Inter-|");
        p = p ? kernel_text_next_line(p) : NULL;
        p = p ? kernel_text_skip(p, " face |") : NULL;
        return p ? kernel_text_next_line(p) : NULL;
}

/* Returns the position after the colon (old kernels write no blank: "eth0:1234"), or NULL. */
static const char *scan_name(const char *p, const char **ret_name, size_t *ret_n) {
        size_t n;

        p = scan_blanks(p);
        n = strcspn(p, ": \t\n");
        if (n == 0 || n >= DEVICE_NAME_MAX || p[n] != ':')
                return NULL;

        *ret_name = p;
        *ret_n = n;
        return p + n + 1;
}

/* Returns the start of the next line, or NULL. */
static const char *scan_counters(const char *p, SampleNet *net) {
        uint64_t column[N_COLUMNS];

        for (size_t i = 0; i < N_COLUMNS; i++) {
                p = scan_u64(p, &column[i]);
                if (!p)
                        return NULL;
        }
        if (*p != ' ' && *p != '\n')
                return NULL;

        net->received_bytes = column[COLUMN_RECEIVED_BYTES];
        net->received_packets = column[COLUMN_RECEIVED_PACKETS];
        net->received_errors = column[COLUMN_RECEIVED_ERRORS];
        net->sent_bytes = column[COLUMN_SENT_BYTES];
        net->sent_packets = column[COLUMN_SENT_PACKETS];
        net->sent_errors = column[COLUMN_SENT_ERRORS];
        return kernel_text_next_line(p);
}

static NetClass classify(const char *name, int net_fd) {
        if (strcmp(name, "lo") == 0 || strcasestr(name, "loopback"))
                return NET_LOOPBACK;
        if (net_fd < 0)
                return NET_PHYSICAL;
        if (device_number(net_fd, name, "type") == TYPE_LOOPBACK)
                return NET_LOOPBACK;
        if (!device_has(net_fd, name, "device") || device_has(net_fd, name, "master/device"))
                return NET_VIRTUAL;
        return NET_PHYSICAL;
}

/* Speed is in Mbit/s, and -1 or 2^32 - 1 if it is unknown. */
static void read_properties(DeviceListEntry *device, int net_fd) {
        uint64_t speed = device->class.net == NET_PHYSICAL ? device_number(net_fd, device->name, "speed") : 0;

        device->ifindex = device_number(net_fd, device->name, "ifindex");
        device->bytes_per_s = speed < UINT32_MAX ? speed * 125000 : 0;
}

/*
 * A counter that fell, or grew faster than the link that was known: the interface may be another one of this name,
 * or its speed may have changed.
 */
static bool is_suspect(const DeviceListEntry *device, const SampleNet *net, uint64_t now_ns) {
        double most = (double)device->bytes_per_s * (double)(now_ns - device->read_ns) / (double)NS_PER_S;

        if (net->received_bytes < device->received_bytes || net->sent_bytes < device->sent_bytes)
                return true;
        return device->bytes_per_s > 0 && ((double)(net->received_bytes - device->received_bytes) > most ||
                                           (double)(net->sent_bytes - device->sent_bytes) > most);
}

static void add_properties(DeviceListEntry *device, int root_fd, uint64_t now_ns, SampleNet *net) {
        if (is_suspect(device, net, now_ns)) {
                scoped(closep) int net_fd = openat(root_fd, "sys/class/net", O_PATH | O_DIRECTORY | O_CLOEXEC);

                read_properties(device, net_fd);
        }

        device->received_bytes = net->received_bytes;
        device->sent_bytes = net->sent_bytes;
        device->read_ns = now_ns;
        net->id = device->ifindex;
        net->bytes_per_s = device->bytes_per_s;
        memcpy(net->name, device->name, sizeof(device->name));
        net->class = device->class.net;
}

/* is_new: rebuild the list. */
static int parse_devices(const char *p, bool is_new, int root_fd, int net_fd, DeviceList *list, Sample *sample,
                         const char **ret_fault) {
        p = skip_headings(p);
        if (!p)
                return kernel_text_malformed("no headings", ret_fault);

        for (sample->n_nets = 0; *p; sample->n_nets++) {
                DeviceListEntry *device;
                const char *name;
                SampleNet *net;
                size_t n_name;
                int r;

                p = scan_name(p, &name, &n_name);
                if (!p)
                        return kernel_text_malformed("a line without an interface", ret_fault);
                r = device_list_take(list, sample->n_nets, name, n_name, is_new, &device);
                if (r != 0)
                        return r;
                if (is_new) {
                        device->class.net = classify(device->name, net_fd);
                        read_properties(device, net_fd);
                }

                r = ARRAY_RESERVE(sample->nets, sample->allocated.n_nets, sample->n_nets + 1);
                if (r < 0)
                        return r;
                net = &sample->nets[sample->n_nets];
                p = scan_counters(p, net);
                if (!p)
                        return kernel_text_malformed("a line that is not counters", ret_fault);
                add_properties(device, root_fd, sample->boottime_ns, net);
        }
        return sample->n_nets == list->n ? 0 : DEVICE_LIST_OTHER;
}

int netdev_parse(const char *text, int root_fd, DeviceList *list, Sample *sample, const char **ret_fault) {
        int r;

        r = parse_devices(text, false, root_fd, -1, list, sample, ret_fault);
        if (r == DEVICE_LIST_OTHER) {
                scoped(closep) int net_fd = openat(root_fd, "sys/class/net", O_PATH | O_DIRECTORY | O_CLOEXEC);

                list->n = 0;
                r = parse_devices(text, true, root_fd, net_fd, list, sample, ret_fault);
        }
        if (r != 0)
                sample->n_nets = 0;
        return r;
}
