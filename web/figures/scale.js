/* SPDX-License-Identifier: Apache-2.0 */
/* Scales of figures: numbers and categories to pixels, round ticks, quartiles. Pure: no document is needed. */

/* Steps of 1, 2 or 5 times a power of ten; for bytes, powers of two. */
export function ticks(low, high, n, unit = "") {
        const rough = (high - low) / Math.max(n, 1);
        let step = 1;

        if (!(rough > 0) || !Number.isFinite(rough))
                return [low];
        if (unit.startsWith("bytes") || unit === "B")
                step = 2 ** Math.ceil(Math.log2(rough));
        else
                step = [1, 2, 5, 10].map((v) => v * 10 ** Math.floor(Math.log10(rough))).find((v) => v >= rough * 0.999);
        return Array.from({ length: Math.floor((high - low) / step + 1.001) }, (_, i) => (Math.ceil(low / step - 0.001) + i) * step).filter((v) => v <= high + step * 0.001)
                .map((v) => Number(v.toPrecision(12)));
}

export const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/* Times in ms at whole tenths, seconds, minutes, hours or days of the local clock: { at, step }, about n of them; the first if there is none. */
export function timeTicks(from, to, n) {
        const rough = (to - from) / Math.max(n, 1), zone = 60e3 * new Date(from).getTimezoneOffset();
        const step = 1000 * (STEPS_S.find((s) => 1000 * s >= rough) ?? 86400 * Math.ceil(rough / 86400e3));
        const first = Math.ceil((from - zone) / step) * step + zone;

        return { at: first > to ? [from] : Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, i) => first + i * step), step };
}

/* A range for all values: from zero where that wastes less than half of the room. */
export function extent(values, fromZero = false) {
        const known = values.filter(Number.isFinite);
        let low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);

        if (known.length === 0)
                return [0, 1];
        if (fromZero || (low > 0 && low < high / 2))
                low = Math.min(low, 0);
        if (fromZero || (high < 0 && high > low / 2))
                high = Math.max(high, 0);
        const room = (high - low || Math.abs(high) || 1) * 0.06;

        return [low === 0 ? 0 : low - room, high === 0 ? 0 : high + room];
}

export function linear([low, high], [from, to]) {
        return (v) => from + ((v - low) / (high - low || 1)) * (to - from);
}

/* Centres of categories; width: of each. */
export function bands(categories, [from, to]) {
        const width = (to - from) / Math.max(categories.length, 1), at = new Map(categories.map((c, i) => [c, from + (i + 0.5) * width]));

        return Object.assign((v) => at.get(v), { width });
}

function quantile(sorted, p) {
        const at = (sorted.length - 1) * p, below = Math.floor(at);

        return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

/* Quartiles, and whiskers up to the last value within 1.5 times their distance (Tukey). */
export function box(values) {
        const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
        const [q1, median, q3] = [0.25, 0.5, 0.75].map((p) => quantile(sorted, p)), reach = 1.5 * (q3 - q1);

        return { n: sorted.length, q1, median, q3, low: sorted.find((v) => v >= q1 - reach), high: sorted.findLast((v) => v <= q3 + reach) };
}

/* Values of a key in the order in which a reader expects them: numbers ascending, texts as they come. */
export function categories(rows, key) {
        const all = [...new Set(rows.map((r) => r[key] ?? null))];

        return all.every((v) => typeof v === "number") ? all.sort((a, b) => a - b) : all;
}
