/* SPDX-License-Identifier: Apache-2.0 */
#include "http/jobs/phases_json.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/jobs/job_reader.h"

/*
 * PhaseWalk: iterates over the phases of a job
 *
 * Ended phases are in the store. The current phase is in the snapshot, which may be one tick old: a phase in both
 * has ended. If a job has too many phases, the walk returns the earliest phases and the current phase.
 */
typedef struct PhaseWalk {
        Reader *reader;
        const PhaseView *lasting; /* the current phase; NULL: none, or already returned */
        uint32_t next;            /* index after the last ended phase */
        unsigned n_left; /* number of ended phases that may still be returned */
        bool is_in_store;
        /* at the end: no phase was left out because of the limit or because the store could not be read */
        bool has_all;
} PhaseWalk;

/*
 * lasting: the current phase, or NULL. n_max: maximum number of ended phases. Invalidates rows that the reader
 * returned before.
 */
static void walk_begin(PhaseWalk *walk, Reader *reader, const char *job, const PhaseView *lasting, unsigned n_max) {
        *walk = (PhaseWalk){
                .reader = reader,
                .lasting = lasting,
                .n_left = n_max,
                .is_in_store = job_reader_list_phases(reader, job) == 0,
        };
}

/* Reads one more phase than the limit, to find out whether more exist and where the current phase begins. */
static bool next_ended(PhaseWalk *walk, PhaseView *ret) {
        int r;

        r = job_reader_next_phase(walk->reader, ret);
        if (r == 0)
                walk->next = ret->index + 1;
        if (r == 0 && walk->n_left-- > 0)
                return true;

        walk->has_all = r == READER_END;
        walk->is_in_store = false;
        reader_reset(walk->reader);
        return false;
}

/* False at the end. *ret is borrowed until the next call. */
static bool walk_next(PhaseWalk *walk, PhaseView *ret) {
        if (walk->is_in_store && next_ended(walk, ret))
                return true;
        if (!walk->lasting || walk->lasting->index < walk->next)
                return false;

        assert(!walk->is_in_store);
        *ret = *walk->lasting;
        walk->lasting = NULL;
        return true;
}

/* Returns the seconds that the client measured, else the length of the node's window, else the difference of the
 * wall clock, which may have been set in between. now_ms: end of a current phase. */
static double seconds_of(const PhaseView *phase, uint64_t now_ms) {
        uint64_t end_ms = phase->end_realtime_ms ?: now_ms;

        if (phase->has_wall_seconds)
                return phase->wall_seconds;
        if (quality_is_present(phase->metrics.quality[METRIC_DURATION]))
                return phase->metrics.value[METRIC_DURATION];
        return end_ms > phase->begin_realtime_ms ? (double)(end_ms - phase->begin_realtime_ms) / 1e3 : 0;
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

static void write_phase(Json *json, const PhaseView *phase, uint64_t now_ms) {
        json_object_begin(json);
        json_put_uint(json, "index", phase->index);
        json_put_string(json, "name", phase->name);
        json_put_uint(json, "begin_ms", phase->begin_realtime_ms);
        json_put_int_or_null(json, "end_ms", phase->end_realtime_ms > 0, (int64_t)phase->end_realtime_ms);
        json_put_double(json, "seconds", seconds_of(phase, now_ms));
        metric_json_write_part(json, &phase->metrics, &phase->usage);
        json_object_end(json);
}

void phases_json_write(const Target *target, const Sources *sources, Response *response, Json *json,
                       const PhaseView *lasting, uint64_t now_ms) {
        size_t n_before = response->body->n;
        PhaseWalk walk;
        PhaseView phase;

        json_put_array_begin(json, "phases");
        walk_begin(&walk, sources->reader, target->argument, lasting, PHASES_MAX);
        while (walk_next(&walk, &phase)) {
                write_phase(json, &phase, now_ms);
                if (response->body->n - n_before > PHASES_BYTES_MAX)
                        walk.n_left = 0;
        }
        json_array_end(json);
        json_put_bool(json, "phases_truncated", !walk.has_all);
}

/* --- time blocks --------------------------------------------------------------------------------- */

typedef struct TimeBlock {
        char name[PHASE_NAME_MAX];
        bool is_timed;  /* seconds measured by the client: then other seconds of the name do not count */
        double seconds;
} TimeBlock;

typedef struct TimeBlocks {
        TimeBlock *blocks; /* owned; space for PHASES_MAX */
        size_t n;
} TimeBlocks;

/* Omits names beyond the limit. */
static void blocks_add(TimeBlocks *blocks, const PhaseView *phase) {
        TimeBlock *block;
        size_t i = 0;

        assert(blocks->n <= PHASES_MAX);
        while (i < blocks->n && strcmp(blocks->blocks[i].name, phase->name) != 0)
                i++;
        if (i == PHASES_MAX)
                return;
        if (i == blocks->n)
                blocks->blocks[blocks->n++] = (TimeBlock){};
        block = &blocks->blocks[i];
        if (phase->has_wall_seconds && !block->is_timed)
                *block = (TimeBlock){ .is_timed = true };
        if (phase->has_wall_seconds || !block->is_timed)
                block->seconds += seconds_of(phase, 0);
        memcpy(block->name, phase->name, sizeof(block->name));
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

int phases_json_write_times(const Target *target, const Sources *sources, Response *response, Json *json,
                            const char *key, MetricStamp stamp) {
        TimeBlocks blocks = {};
        scoped(freep) TimeBlock *memory = NULL;
        PhaseView phase;
        int r;

        memory = calloc(PHASES_MAX, sizeof(*memory));
        if (!memory)
                return exchange_store_error(response, -ENOMEM);

        blocks.blocks = memory;
        r = job_reader_list_phases(sources->reader, target->argument);
        while (r == 0 && (r = job_reader_next_phase(sources->reader, &phase)) == 0)
                if (*phase.name)
                        blocks_add(&blocks, &phase);
        if (r != READER_END)
                return exchange_store_error(response, r);

        write_blocks(json, &blocks, key, stamp);
        return 0;
}
