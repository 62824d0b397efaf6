/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/account_text.h"

#include <string.h>

#include "util/parse.h"

static const char *const disk_counters[DEVICE_COUNTERS_MAX] = { "read_bytes", "write_bytes", "reads", "writes" };
static const char *const net_counters[DEVICE_COUNTERS_MAX] = { "sent_bytes", "received_bytes" };

/* What a kind of device is called. */
typedef struct DeviceKind {
        const char *name;
        const char *const *counters;
        size_t n_classes;
        uint8_t remembered_class;
} DeviceKind;

static const DeviceKind disk_kind = { "disk", disk_counters, N_DISK_CLASSES, DISK_PHYSICAL };
static const DeviceKind net_kind = { "net", net_counters, N_NET_CLASSES, NET_PHYSICAL };

static const char *class_name(const DeviceKind *kind, size_t class) {
        return kind == &disk_kind ? disk_class_name((DiskClass)class) : net_class_name((NetClass)class);
}

static void put_devices(const DeviceTable *table, const DeviceKind *kind, Buffer *out) {
        buffer_printf(out, "%ss", kind->name);
        words_put_u64(out, "read_ns", table->read_ns);
        buffer_putc(out, '\n');

        for (size_t i = 0; i < table->n; i++) {
                const Device *device = &table->devices[i];

                buffer_puts(out, kind->name);
                words_put_text(out, "name", device->name);
                words_put_text(out, "class", class_name(kind, device->class));
                for (size_t k = 0; k < DEVICE_COUNTERS_MAX && kind->counters[k]; k++)
                        words_put_u64(out, kind->counters[k], device->counters[k]);
                buffer_putc(out, '\n');
        }
}

void account_text_put(const Account *account, Buffer *out) {
        buffer_puts(out, "totals");
        totals_put(&account->totals, out);

        buffer_puts(out, "\nknown");
        words_put_sources(out, "sources", account->known);
        words_put_u64(out, "online", account->n_online);

        buffer_puts(out, "\nraw");
        for (Total total = 0; total < ACCOUNT_N_RAW; total++)
                words_put_u64(out, total_name(total), account->raw[total]);
        buffer_putc(out, '\n');

        put_devices(&account->disks, &disk_kind, out);
        put_devices(&account->nets, &net_kind, out);
}

static int parse_known(Account *account, const char *text) {
        Word word;

        while (words_next(&text, &word)) {
                uint64_t n_online;

                if (word_is(&word, "sources"))
                        account->known = word_sources(&word);
                if (!word_is(&word, "online"))
                        continue;
                if (word_u64(&word, &n_online) != 0 || n_online > UINT32_MAX)
                        return PARSE_MALFORMED;
                account->n_online = (uint32_t)n_online;
        }

        return 0;
}

static int parse_raw(Account *account, const char *text) {
        Word word;

        while (words_next(&text, &word))
                for (Total total = 0; total < ACCOUNT_N_RAW; total++)
                        if (word_is(&word, total_name(total)) && word_u64(&word, &account->raw[total]) != 0)
                                return PARSE_MALFORMED;
        return 0;
}

static int parse_table(DeviceTable *table, const char *text) {
        Word word;

        while (words_next(&text, &word))
                if (word_is(&word, "read_ns") && word_u64(&word, &table->read_ns) != 0)
                        return PARSE_MALFORMED;
        return 0;
}

static int parse_class(const DeviceKind *kind, const Word *word, Device *device) {
        char name[DEVICE_NAME_MAX];

        if (word_text(word, name, sizeof(name)) != 0)
                return PARSE_MALFORMED;

        for (size_t class = 0; class < kind->n_classes; class++) {
                if (strcmp(name, class_name(kind, class)) != 0)
                        continue;
                device->class = (uint8_t)class;
                device->is_remembered = class == kind->remembered_class;
                return 0;
        }

        return PARSE_MALFORMED;
}

static int parse_device_word(const DeviceKind *kind, const Word *word, Device *device) {
        if (word_is(word, "name"))
                return word_text(word, device->name, sizeof(device->name));
        if (word_is(word, "class"))
                return parse_class(kind, word, device);

        for (size_t k = 0; k < DEVICE_COUNTERS_MAX && kind->counters[k]; k++)
                if (word_is(word, kind->counters[k]))
                        return word_u64(word, &device->counters[k]);
        return 0;
}

static int parse_device(DeviceTable *table, const DeviceKind *kind, const char *text) {
        Device device = {};
        Word word;

        while (words_next(&text, &word))
                if (parse_device_word(kind, &word, &device) != 0)
                        return PARSE_MALFORMED;

        return device.name[0] ? device_table_put(table, &device) : PARSE_MALFORMED;
}

int account_text_parse_line(Account *account, const Word *kind, const char *text) {
        if (word_is(kind, "totals"))
                return totals_parse(text, &account->totals);
        if (word_is(kind, "known"))
                return parse_known(account, text);
        if (word_is(kind, "raw"))
                return parse_raw(account, text);
        if (word_is(kind, "disks"))
                return parse_table(&account->disks, text);
        if (word_is(kind, "disk"))
                return parse_device(&account->disks, &disk_kind, text);
        if (word_is(kind, "nets"))
                return parse_table(&account->nets, text);
        if (word_is(kind, "net"))
                return parse_device(&account->nets, &net_kind, text);
        return 0;
}
