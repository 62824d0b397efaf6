#include "http/phases.h"

#include <errno.h>
#include <string.h>

/* Whoever marked it measured it best; then the node's window; the wall clock may have been set meanwhile. */
static double seconds_of(const PhaseView *phase, uint64_t end_ms) {
        if (phase->has_wall_seconds)
                return phase->wall_seconds;
        if (quality_is_present(phase->metrics.quality[METRIC_DURATION]))
                return phase->metrics.value[METRIC_DURATION];
        return end_ms > phase->begin_realtime_ms ? (double)(end_ms - phase->begin_realtime_ms) / 1e3 : 0;
}

static void write_phase(Json *json, const PhaseView *phase, uint64_t now_ms) {
        json_object_begin(json);
        json_put_uint(json, "index", phase->index);
        json_put_string(json, "name", phase->name);
        json_put_uint(json, "begin_ms", phase->begin_realtime_ms);
        if (phase->end_realtime_ms)
                json_put_uint(json, "end_ms", phase->end_realtime_ms);
        else
                json_put_string(json, "end_ms", NULL);
        json_put_double(json, "seconds", seconds_of(phase, phase->end_realtime_ms ?: now_ms));
        metric_json_write_part(json, &phase->metrics, &phase->usage);
        json_object_end(json);
}

/* Returns whether all are there. *ret_next: the index after the last that has ended. */
static bool write_ended(Exchange *exchange, Json *json, uint32_t *ret_next) {
        size_t n_before = exchange->body->n;
        uint32_t next = 0;
        PhaseView phase;
        int r;

        r = reader_phases(exchange->reader, exchange->argument);
        for (unsigned n = 0; r == 0 && (r = reader_next_phase(exchange->reader, &phase)) == 0; n++) {
                next = phase.index + 1;
                if (n == PHASES_MAX || exchange->body->n - n_before > PHASES_BYTES_MAX)
                        break;
                write_phase(json, &phase, 0);
        }

        reader_reset(exchange->reader);
        *ret_next = next;
        return r == READER_END;
}

void phases_write(Exchange *exchange, Json *json, const PhaseView *lasting, uint64_t now_ms) {
        uint32_t next;
        bool has_all;

        json_key(json, "phases");
        json_array_begin(json);
        has_all = write_ended(exchange, json, &next);
        if (lasting && lasting->index >= next)
                write_phase(json, lasting, now_ms);
        json_array_end(json);
        json_put_bool(json, "phases_truncated", !has_all);
}

/* --- time blocks --------------------------------------------------------------------------------- */

typedef struct TimeBlock {
        char name[PHASE_NAME_MAX];
        double seconds;
} TimeBlock;

typedef struct TimeBlocks {
        TimeBlock *blocks; /* owned; room for PHASES_MAX */
        size_t n;
} TimeBlocks;

/* Names beyond the limit are left out. */
static void blocks_add(TimeBlocks *blocks, const PhaseView *phase) {
        size_t i = 0;

        while (i < blocks->n && strcmp(blocks->blocks[i].name, phase->name) != 0)
                i++;
        if (i == PHASES_MAX)
                return;
        if (i == blocks->n) {
                blocks->blocks[blocks->n++] = (TimeBlock){};
                memcpy(blocks->blocks[i].name, phase->name, sizeof(phase->name));
        }
        blocks->blocks[i].seconds += seconds_of(phase, phase->end_realtime_ms);
}

static bool needs_prefix(const char *name) {
        if (strncmp(name, PHASES_PREFIX, strlen(PHASES_PREFIX)) == 0 || metric_find(name) >= 0 || usage_find(name) >= 0)
                return true;

        for (Metric metric = 0; metric < N_PERFPY_METRICS; metric++)
                if (strcmp(metric_raw_key(metric), name) == 0)
                        return true;
        return false;
}

static void write_blocks(Json *json, const TimeBlocks *blocks, const char *key, MetricStamp stamp) {
        for (const TimeBlock *block = blocks->blocks; block < blocks->blocks + blocks->n; block++) {
                char name[PHASE_NAME_MAX + sizeof(PHASES_PREFIX)];

                (void)snprintf(name, sizeof(name), "%s%s", needs_prefix(block->name) ? PHASES_PREFIX : "", block->name);
                if (!key || strcmp(key, name) == 0)
                        metric_json_write_item(json, name, block->seconds, stamp);
        }
}

int phases_write_times(Exchange *exchange, Json *json, const char *key, MetricStamp stamp) {
        TimeBlocks blocks = {};
        scoped(freep) TimeBlock *memory = NULL;
        PhaseView phase;
        int r;

        memory = calloc(PHASES_MAX, sizeof(*memory));
        if (!memory)
                return exchange_store_error(exchange, -ENOMEM);

        blocks.blocks = memory;
        r = reader_phases(exchange->reader, exchange->argument);
        while (r == 0 && (r = reader_next_phase(exchange->reader, &phase)) == 0)
                if (*phase.name)
                        blocks_add(&blocks, &phase);
        if (r != READER_END)
                return exchange_store_error(exchange, r);

        write_blocks(json, &blocks, key, stamp);
        return 0;
}
