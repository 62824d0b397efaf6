/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL: meters of energy in processors and memory, below sys/class/powercap
 *
 * The kernel lists a zone for each package, with zones for its parts ("intel-rapl:0", "intel-rapl:0:1"), of processors
 * of Intel and AMD. A package may be listed by two interfaces: it is one item. Packages and memory are counted; cores
 * and graphics are parts of a package, and psys contains everything.
 *
 * Only root can read the counters since CVE-2020-8694: a rule of udev lets the group perfd read them.
 */

#include "sample/host/equipment_reader.h"

#include <errno.h>
#include <string.h>

#include "sample/kernel_file.h"
#include "util/array.h"
#include "util/error_text.h"
#include "util/file.h"
#include "util/scan.h"

#define FOLDER "sys/class/powercap/"
#define PACKAGES_MAX 32U
#define PARTS_MAX 8U
/* Without zones, and when one fails, they are looked for again: a module of the kernel was loaded or removed. */
#define SEARCH_NS KERNEL_FILE_RETRY_NS

/* No part of a machine uses more power than that: a counter that may have wrapped in between is not believed. */
static const struct RaplPart {
        const char *name;
        bool is_counted;
        double max_uj_per_s;
} parts[] = {
        { "package", true, 2e9 },
        { "dram", true, 4e8 },
        { "core", false, 2e9 },
        { "uncore", false, 2e9 },
        { "psys", false, 1e10 },
};

typedef struct RaplZone {
        const struct RaplPart *part;
        char name[64]; /* "package-0", "package-0/dram" */
        char path[96];
        uint64_t range; /* highest value */
        KernelFile file;
} RaplZone;

typedef struct Rapl {
        int root_fd; /* borrowed */
        RaplZone *zones; /* owned */
        size_t n, n_allocated;
        uint64_t search_ns; /* earliest time of the next search */
        bool has_failed;
        KernelText text;
        char fault[160];
} Rapl;

static void clear(Rapl *rapl) {
        for (size_t i = 0; i < rapl->n; i++)
                kernel_file_deinit(&rapl->zones[i].file);
        rapl->n = 0;
}

static void release(void *state) {
        Rapl *rapl = state;

        clear(rapl);
        kernel_file_text_deinit(&rapl->text);
        free(rapl->zones);
        free(rapl);
}

/* --- zones -------------------------------------------------------------------------------------- */

/* Reads the first word of a file of a zone. */
static bool read_word(const Rapl *rapl, const char *zone, const char *leaf, char ret[static 32]) {
        scoped(freep) char *text = NULL;
        char path[96];

        (void)snprintf(path, sizeof(path), FOLDER "%s/%s", zone, leaf);
        text = file_read_text(rapl->root_fd, path, 4096);
        return text && sscanf(text, "%31s", ret) == 1;
}

static const struct RaplPart *find_part(const char *name) {
        for (size_t i = 0; i < N_ELEMENTS(parts); i++)
                if (strncmp(name, parts[i].name, strlen(parts[i].name)) == 0)
                        return &parts[i];
        return NULL;
}

static bool is_known(const Rapl *rapl, const char *name) {
        for (size_t i = 0; i < rapl->n; i++)
                if (strcmp(rapl->zones[i].name, name) == 0)
                        return true;
        return false;
}

/* The range is the highest value of a counter of 32 bits: it wraps one of its units above. */
static uint64_t width_of(uint64_t range_uj) {
        return range_uj + range_uj / UINT32_MAX + (range_uj % UINT32_MAX > 0);
}

/* Adds a zone, unless it is no meter of a known part. prefix: name of the package of a part, or "". */
static int add_zone(Rapl *rapl, const char *id, const char *prefix, const char *name) {
        char range[32];
        RaplZone zone = { .part = find_part(name) };

        (void)snprintf(zone.name, sizeof(zone.name), "%s%s%s", prefix, *prefix ? "/" : "", name);
        (void)snprintf(zone.path, sizeof(zone.path), FOLDER "%s/energy_uj", id);
        if (!zone.part || is_known(rapl, zone.name) || rapl->n > EQUIPMENT_ENERGY_MAX ||
            !read_word(rapl, id, "max_energy_range_uj", range) || !scan_u64(range, &zone.range) || zone.range == 0)
                return 0;
        if (ARRAY_RESERVE(rapl->zones, rapl->n_allocated, rapl->n + 1) < 0)
                return -ENOMEM;
        rapl->zones[rapl->n++] = zone;
        return 0;
}

/* Adds the zones of an interface: packages, and the parts of each. */
static int add_zones(Rapl *rapl, const char *interface) {
        char id[32], package[32], part[32];
        int r = 0;

        for (unsigned i = 0; i < PACKAGES_MAX && r == 0; i++) {
                (void)snprintf(id, sizeof(id), "%s:%u", interface, i);
                if (!read_word(rapl, id, "name", package))
                        continue;
                r = add_zone(rapl, id, "", package);
                for (unsigned k = 0; k < PARTS_MAX && r == 0; k++) {
                        (void)snprintf(id, sizeof(id), "%s:%u:%u", interface, i, k);
                        if (read_word(rapl, id, "name", part))
                                r = add_zone(rapl, id, package, part);
                }
        }
        return r;
}

/* The registers of the processor come first: a package that both interfaces list is read there. */
static int find_zones(Rapl *rapl) {
        int r;

        clear(rapl);
        r = add_zones(rapl, "intel-rapl");
        if (r == 0)
                r = add_zones(rapl, "intel-rapl-mmio");
        for (size_t i = 0; i < rapl->n; i++)
                kernel_file_init(&rapl->zones[i].file, rapl->zones[i].path, NULL, false);
        return r;
}

/* --- reading ------------------------------------------------------------------------------------ */

/* The reason remains until the file is tried again. */
static int fail(Rapl *rapl, const RaplZone *zone, const char *why) {
        (void)snprintf(rapl->fault, sizeof(rapl->fault), "%s: %s", zone->path + strlen(FOLDER), why);
        return EQUIPMENT_FAILED;
}

/* Returns 0, EQUIPMENT_FAILED or -ENOMEM. */
static int read_zone(Rapl *rapl, RaplZone *zone, uint64_t now_ns, uint64_t *ret) {
        int r, error;

        r = kernel_file_read(&zone->file, rapl->root_fd, now_ns, &rapl->text, &error);
        if (r < 0)
                return r;
        if (r == KERNEL_FILE_WAITING)
                return EQUIPMENT_FAILED;
        if (r == KERNEL_FILE_FAILED)
                return fail(rapl, zone, error_text(error));
        if (!scan_u64(rapl->text.bytes, ret) || *ret > zone->range)
                return fail(rapl, zone, "not a number within its range");
        return 0;
}

/* Values of a part that cannot be read are absent; without one that is counted, the total would be wrong. */
static int read_zones(Rapl *rapl, Sample *sample) {
        for (size_t i = 0; i < rapl->n; i++) {
                RaplZone *zone = &rapl->zones[i];
                SampleEquipment *item;
                uint64_t energy_uj;
                int r;

                r = read_zone(rapl, zone, sample->boottime_ns, &energy_uj);
                if (r == EQUIPMENT_FAILED && !zone->part->is_counted)
                        continue;
                if (r != 0)
                        return r;
                r = equipment_add(&sample->equipment, EQUIPMENT_ENERGY, zone->name, &item);
                if (r < 0)
                        return r;
                if (r == EQUIPMENT_FULL)
                        return fail(rapl, zone, "too many meters");
                (void)snprintf(item->texts[0], sizeof(item->texts[0]), "%s", zone->part->name);
                item->is_counted = zone->part->is_counted;
                item->width = width_of(zone->range);
                item->max_per_s = zone->part->max_uj_per_s;
                equipment_set(item, ENERGY_energy_uj, energy_uj);
        }
        return 0;
}

static int read_equipment(void *state, Sample *sample, const char **ret_fault) {
        Rapl *rapl = state;
        int r = 0;

        if ((rapl->n == 0 || rapl->has_failed) && sample->boottime_ns >= rapl->search_ns) {
                rapl->search_ns = sample->boottime_ns + SEARCH_NS;
                r = find_zones(rapl);
        }
        if (r < 0 || rapl->n == 0)
                return r < 0 ? r : EQUIPMENT_NONE;

        r = read_zones(rapl, sample);
        rapl->has_failed = r == EQUIPMENT_FAILED;
        *ret_fault = rapl->fault;
        return r;
}

const EquipmentReader rapl_reader = { EQUIPMENT_STATE(Rapl), .free = release, .read = read_equipment };
