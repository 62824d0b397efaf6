/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amdgpu: GPUs of AMD, below sys/class/drm
 *
 * The driver asks the GPU for most values, and waits for the answer, for seconds if the GPU hangs: slow_reader.h.
 *
 * Times are integrals of what is read, and begin with perfd. Energy is the counter that the driver passes on.
 *
 * GPUs are named amd0, amd1, … in the order of their cards, in which ROCR_VISIBLE_DEVICES numbers them.
 */

#include "sample/host/equipment_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure/gpu_file.h"
#include "sample/kernel_text.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/scan.h"
#include "util/utf8.h"

#define CARDS_MAX 64U /* numbers of cards, of any maker: bits of a mask */
_Static_assert(CARDS_MAX + GPU_FILE_GPUS_MAX <= EQUIPMENT_GPU_MAX, "GPUs of NVIDIA and of AMD");

#define LIST_NS (60 * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)
/* Readings that are asked for by events are no closer. */
#define DISTANCE_NS (50 * NS_PER_MS)
#define TEXT_BYTES_MAX 4096U

#define POWER_MAX_UW UINT64_C(10000000000)
#define CLOCK_MAX_HZ UINT64_C(20000000000)

/* Indexes of the texts of a GPU. */
enum { TEXT_UUID, TEXT_MODEL, TEXT_DRIVER, TEXT_PARENT, TEXT_STATE };

typedef struct AmdGpu {
        unsigned card;
        char hwmon[24]; /* "hwmon/hwmon3/", or "" */
        uint64_t read_ns, minute_ns;
        SampleEquipment item;
} AmdGpu;

typedef struct Amdgpu {
        int root_fd;    /* borrowed */
        uint64_t cards; /* a bit for each */
        uint64_t list_ns;
        AmdGpu *gpus; /* owned */
        size_t n;
} Amdgpu;

/* --- files --------------------------------------------------------------------------------------- */

typedef struct AmdFiles {
        int root_fd;
        unsigned card;
} AmdFiles;

static void make_path(AmdFiles files, const char *folder, const char *leaf, char ret[static 96]) {
        (void)snprintf(ret, 96, "sys/class/drm/card%u/device/%.24s%.32s", files.card, folder, leaf);
}

/* Returns the text of a file without its last newline, or NULL. folder: "", or that of the sensors. Caller frees. */
static char *read_text(AmdFiles files, const char *folder, const char *leaf) {
        char path[96], *text;
        size_t n = 0;

        make_path(files, folder, leaf, path);
        if (file_read_at(files.root_fd, path, TEXT_BYTES_MAX, &text, &n) != 0)
                return NULL;
        if (n > 0 && text[n - 1] == '\n')
                text[n - 1] = '\0';
        return text;
}

/* False: there is no number, or it is above the highest. */
static bool read_number(AmdFiles files, const char *folder, const char *leaf, uint64_t max, uint64_t *ret) {
        scoped(freep) char *text = read_text(files, folder, leaf);

        return text && scan_u64(text, ret) && *ret <= max;
}

/* --- each minute --------------------------------------------------------------------------------- */

static void find_sensors(AmdFiles files, AmdGpu *gpu) {
        scoped(closedirp) DIR *list = NULL;
        const struct dirent *entry;
        char path[96];

        make_path(files, "", "hwmon", path);
        list = file_open_list(files.root_fd, path);
        while (list && (entry = readdir(list)))
                if (strncmp(entry->d_name, "hwmon", strlen("hwmon")) == 0)
                        (void)snprintf(gpu->hwmon, sizeof(gpu->hwmon), "hwmon/%.15s/", entry->d_name);
}

/* Parses "0: 132Mhz\n1: 2100Mhz *\n". */
static uint64_t find_highest_clock(const char *text) {
        uint64_t level, mhz, highest = 0;

        for (const char *p = text; p && (p = scan_u64(p, &level)) && *p == ':' && scan_u64(p + 1, &mhz);
             p = kernel_text_next_line(p))
                highest = mhz > highest ? mhz : highest;
        return highest;
}

/* Parses "ue: 0\nce: 3\n". */
static void put_errors(SampleEquipment *item, const char *text) {
        uint64_t uncorrected, corrected;

        if (sscanf(text, "ue: %" SCNu64 " ce: %" SCNu64, &uncorrected, &corrected) != 2)
                return;
        equipment_set(item, GPU_ecc_uncorrected, uncorrected);
        equipment_set(item, GPU_ecc_corrected, corrected);
}

static void read_each_minute(AmdFiles files, AmdGpu *gpu) {
        scoped(freep) char *id = read_text(files, "", "unique_id"), *model = read_text(files, "", "product_name");
        scoped(freep) char *device = read_text(files, "", "device"), *clocks = read_text(files, "", "pp_dpm_sclk");
        scoped(freep) char *errors = read_text(files, "", "ras/umc_err_count");
        SampleEquipment *item = &gpu->item;
        uint64_t total, limit_uw, mhz = clocks ? find_highest_clock(clocks) : 0;

        find_sensors(files, gpu);
        if (id && utf8_is_line(id))
                (void)snprintf(item->texts[TEXT_UUID], EQUIPMENT_TEXT_MAX, "GPU-%.64s", id);
        if (model && *model && utf8_is_line(model))
                utf8_copy(item->texts[TEXT_MODEL], EQUIPMENT_TEXT_MAX, model);
        else if (device && utf8_is_line(device))
                (void)snprintf(item->texts[TEXT_MODEL], EQUIPMENT_TEXT_MAX, "AMD %.32s", device);
        if (read_number(files, "", "mem_info_vram_total", UINT64_MAX, &total))
                equipment_set(item, GPU_memory_total_bytes, total);
        if (read_number(files, gpu->hwmon, "power1_cap", POWER_MAX_UW, &limit_uw))
                equipment_set(item, GPU_power_limit_mw, limit_uw / 1000);
        if (mhz > 0 && mhz <= CLOCK_MAX_HZ / 1000000)
                equipment_set(item, GPU_sm_clock_max_hz, mhz * 1000000);
        if (errors)
                put_errors(item, errors);
}

/* --- each reading -------------------------------------------------------------------------------- */

/* Values above the highest are garbage. */
static const struct {
        size_t value;
        const char *leaves[2]; /* the first that exists */
        bool is_sensor;
        uint64_t max, divisor;
} prompt[] = {
        { GPU_memory_used_bytes, { "mem_info_vram_used" }, false, UINT64_MAX, 1 },
        { GPU_power_mw, { "power1_average", "power1_input" }, true, POWER_MAX_UW, 1000 },
        { GPU_temperature_mc, { "temp2_input", "temp1_input" }, true, 150000, 1 },
        { GPU_sm_clock_hz, { "freq1_input" }, true, CLOCK_MAX_HZ, 1 },
};

/*
 * Reads the energy from the table of the driver, in 2^-16 J. The table begins with its size and its version, which says
 * where the energy is; all bits are set if the GPU does not count it.
 */
static void read_energy(AmdFiles files, SampleEquipment *item) {
        static const uint8_t offsets[] = { [1] = 24, [2] = 24, [3] = 24, [4] = 24, [5] = 88 };
        scoped(freep) char *table = NULL;
        uint64_t energy;
        uint8_t version;
        char path[96];
        size_t n = 0;

        make_path(files, "", "gpu_metrics", path);
        if (file_read_at(files.root_fd, path, TEXT_BYTES_MAX, &table, &n) != 0 || n < 4 || table[2] != 1)
                return;
        version = (uint8_t)table[3];
        if (version == 0 || version >= N_ELEMENTS(offsets) || offsets[version] + sizeof(energy) > n)
                return;
        memcpy(&energy, table + offsets[version], sizeof(energy));
        if (energy > 0 && energy < UINT64_MAX / 1000)
                equipment_set(item, GPU_energy_mj, energy * 1000 / 65536);
}

static void add_time(SampleEquipment *item, uint64_t period_us, uint64_t percent) {
        equipment_set(item, GPU_utilization, percent * 100);
        equipment_set(item, GPU_present_us, item->values[GPU_present_us] + period_us);
        equipment_set(item, GPU_utilized_us, item->values[GPU_utilized_us] + period_us * percent / 100);
}

static void read_awake(AmdFiles files, AmdGpu *gpu, uint64_t period_us) {
        uint64_t v;

        if (gpu->read_ns >= gpu->minute_ns) {
                gpu->minute_ns = gpu->read_ns + MINUTE_NS;
                read_each_minute(files, gpu);
        }
        if (read_number(files, "", "gpu_busy_percent", 100, &v))
                add_time(&gpu->item, period_us, v);
        for (size_t i = 0; i < N_ELEMENTS(prompt); i++) {
                const char *folder = prompt[i].is_sensor ? gpu->hwmon : "";

                if (read_number(files, folder, prompt[i].leaves[0], prompt[i].max, &v) ||
                    (prompt[i].leaves[1] && read_number(files, folder, prompt[i].leaves[1], prompt[i].max, &v)))
                        equipment_set(&gpu->item, prompt[i].value, v / prompt[i].divisor);
        }
        read_energy(files, &gpu->item);
}

/* A GPU that sleeps would be woken up. */
static void read_gpu(int root_fd, AmdGpu *gpu, uint64_t now_ns) {
        const AmdFiles files = { root_fd, gpu->card };
        scoped(freep) char *status = read_text(files, "", "power/runtime_status");
        bool is_asleep = status && strcmp(status, "suspended") == 0;
        uint64_t period_us = gpu->read_ns > 0 ? (now_ns - gpu->read_ns) / NS_PER_US : 0;
        SampleEquipment *item = &gpu->item;

        gpu->read_ns = now_ns;
        item->have &= ~(UINT32_C(1) << GPU_utilization | UINT32_C(1) << GPU_energy_mj);
        for (size_t i = 0; i < N_ELEMENTS(prompt); i++)
                item->have &= ~(UINT32_C(1) << prompt[i].value);
        if (is_asleep)
                add_time(item, period_us, 0);
        else
                read_awake(files, gpu, period_us);
}

/* --- the GPUs ------------------------------------------------------------------------------------- */

static void release(void *state) {
        Amdgpu *amdgpu = state;

        free(amdgpu->gpus);
        free(amdgpu);
}

/* Returns the cards of AMD's driver, a bit for each, without asking the driver. */
static uint64_t find_cards(int root_fd) {
        uint64_t cards = 0;

        for (unsigned card = 0; card < CARDS_MAX; card++) {
                const AmdFiles files = { root_fd, card };
                scoped(freep) char *vendor = read_text(files, "", "vendor");
                char path[96];

                make_path(files, "", "mem_info_vram_total", path);
                if (vendor && strcmp(vendor, "0x1002") == 0 && faccessat(root_fd, path, F_OK, 0) == 0)
                        cards |= UINT64_C(1) << card;
        }
        return cards;
}

/* Times begin again when a card comes or goes. */
static int list_gpus(Amdgpu *amdgpu) {
        uint64_t cards = find_cards(amdgpu->root_fd);

        if (cards == amdgpu->cards)
                return 0;
        free(amdgpu->gpus);
        amdgpu->n = 0;
        amdgpu->cards = 0;
        amdgpu->gpus = calloc((size_t)__builtin_popcountll(cards) + 1, sizeof(*amdgpu->gpus));
        if (!amdgpu->gpus)
                return -ENOMEM;
        amdgpu->cards = cards;
        for (; cards > 0; cards &= cards - 1) {
                AmdGpu *gpu = &amdgpu->gpus[amdgpu->n];

                gpu->card = (unsigned)__builtin_ctzll(cards);
                gpu->item = (SampleEquipment){ .kind = EQUIPMENT_GPU, .is_counted = true,
                                               .texts = { [TEXT_DRIVER] = "amdgpu", [TEXT_STATE] = "ok" } };
                (void)snprintf(gpu->item.name, EQUIPMENT_NAME_MAX, "amd%zu", amdgpu->n++);
        }
        return 0;
}

static int read_equipment(void *state, Sample *sample, const char **ret_fault) {
        Amdgpu *amdgpu = state;

        *ret_fault = "too many GPUs";
        if (sample->boottime_ns >= amdgpu->list_ns) {
                if (list_gpus(amdgpu) < 0)
                        return -ENOMEM;
                amdgpu->list_ns = sample->boottime_ns + LIST_NS;
        }
        for (size_t i = 0; i < amdgpu->n; i++) {
                AmdGpu *gpu = &amdgpu->gpus[i];
                SampleEquipment *item;
                int r;

                read_gpu(amdgpu->root_fd, gpu, sample->boottime_ns);
                r = equipment_add(&sample->equipment, EQUIPMENT_GPU, gpu->item.name, &item);
                if (r != 0)
                        return r == EQUIPMENT_FULL ? EQUIPMENT_FAILED : r;
                *item = gpu->item;
        }
        return amdgpu->n > 0 ? 0 : EQUIPMENT_NONE;
}

const EquipmentReader amdgpu_reader = {
        .driver = "amdgpu", .distance_ns = DISTANCE_NS, EQUIPMENT_STATE(Amdgpu), .free = release, .read = read_equipment
};
