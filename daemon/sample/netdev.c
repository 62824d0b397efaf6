/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/netdev.h"

#include <errno.h>

#include "sample/text.h"
#include "util/parse.h"

#define TYPE_LOOPBACK 772 /* ARPHRD_LOOPBACK */

/* Both directions have eight columns; of sending, the first three are read. */
enum {
        COLUMN_RECEIVED_BYTES,
        COLUMN_RECEIVED_PACKETS,
        COLUMN_RECEIVED_ERRORS,
        COLUMN_SENT_BYTES = 8,
        COLUMN_SENT_PACKETS,
        COLUMN_SENT_ERRORS,
        N_COLUMNS,
};

/* Past the two lines of headings, or NULL. */
static const char *skip_headings(const char *p) {
        p = text_skip(p, "Inter-|");
        p = p ? text_next_line(p) : NULL;
        p = p ? text_skip(p, " face |") : NULL;
        return p ? text_next_line(p) : NULL;
}

/* Returns what follows the colon (old kernels leave no blank there: "eth0:1234"), or NULL. */
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
        return text_next_line(p);
}

int netdev_parse(const char *text, const DeviceList *list, Sample *sample, const char **ret_fault) {
        const char *p;
        size_t i;
        int r;

        sample->n_nets = 0;
        r = sample_reserve_nets(sample, list->n);
        if (r < 0)
                return r;

        p = skip_headings(text);
        if (!p)
                return text_malformed("no headings", ret_fault);

        for (i = 0; *p; i++) {
                const DeviceListEntry *device;
                const char *name;
                size_t n_name;

                p = scan_name(p, &name, &n_name);
                if (!p)
                        return text_malformed("a line without an interface", ret_fault);
                device = device_list_at(list, i, name, n_name);
                if (!device)
                        return TEXT_OTHER_DEVICES;

                p = scan_counters(p, &sample->nets[i]);
                if (!p)
                        return text_malformed("a line that is not counters", ret_fault);
                memcpy(sample->nets[i].name, device->name, sizeof(device->name));
                sample->nets[i].class = device->class.net;
        }

        if (i != list->n)
                return TEXT_OTHER_DEVICES;
        sample->n_nets = i;
        return 0;
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

int netdev_classify(const char *text, int net_fd, DeviceList *list, const char **ret_fault) {
        const char *p;

        list->n = 0;
        p = skip_headings(text);
        if (!p)
                return text_malformed("no headings", ret_fault);

        while (*p) {
                DeviceListEntry *device;
                const char *name;
                size_t n_name;
                int r;

                p = scan_name(p, &name, &n_name);
                if (!p || !(p = text_next_line(p)))
                        return text_malformed("a line without an interface", ret_fault);

                r = device_list_add(list, name, n_name, &device);
                if (r < 0)
                        return r;
                device->class.net = classify(device->name, net_fd);
        }
        return 0;
}
