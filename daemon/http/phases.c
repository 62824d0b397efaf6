#include "http/phases.h"

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

void phases_write(Exchange *exchange, Json *json, const PhaseView *lasting, uint64_t now_ms) {
        (void)exchange;
        json_key(json, "phases");
        json_array_begin(json);
        if (lasting)
                write_phase(json, lasting, now_ms);
        json_array_end(json);
        json_put_bool(json, "phases_truncated", lasting && lasting->index > 0);
}
