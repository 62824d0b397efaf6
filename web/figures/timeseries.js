/* SPDX-License-Identifier: Apache-2.0 */
/* Lines over time, with the range from the least to the greatest value of each interval: a plot by uPlot.
 *
 * timeseries({ label, unit, series: [{ name, color, dash }], from, to, height, onselect }) returns { element, set, end }; set(data, from, to):
 * data as of columns(). The caller calls end() when the element goes. */

import { STEPS_S } from "./scale.js";
import { el } from "../app/dom.js";
import { clock, percent, quantity, time } from "../app/format.js";

export const AXIS_PX = 74, PAD_PX = 12; /* left and right of the plot, for figures below it with the same times */
const SYNC = "time";
const DAYS_S = [2, 3, 7, 14, 30, 90].map((n) => 86400 * n);

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/* Data of the plot from a timeline of the API: times in seconds, and for each series mean, greatest and least. tail: later points,
 * [{ time_ms, values: { series: value } }] */
export function columns(timeline, names, tail = []) {
        const first = timeline.series.cpu.mean;
        const last_ms = timeline.begin_ms + first.length * timeline.interval_ms;
        const later = tail.filter((p) => p.time_ms > last_ms);
        const times = first.map((_, i) => (timeline.begin_ms + (i + 0.5) * timeline.interval_ms) / 1000);

        return [[...times, ...later.map((p) => p.time_ms / 1000)], ...names.flatMap((name) => {
                const { mean = first.map(() => null), min = mean, max = mean } = timeline.series[name] ?? {};
                const values = later.map((p) => p.values[name] ?? null);

                return [[...mean, ...values], [...max, ...values], [...min, ...values]];
        })];
}

function limits(unit) {
        if (unit === "ratio")
                return () => [0, 1];
        return (plot, low, high) => [0, high > 0 ? high * 1.05 : unit.startsWith("bytes") ? 1024 : 1];
}

/* Ticks at round numbers of the unit: powers of two for bytes. */
function splits(unit) {
        if (unit !== "bytes_per_second" && unit !== "bytes")
                return undefined;
        return (plot, axis, low, high) => {
                const step = 2 ** Math.ceil(Math.log2(Math.max(high, 1) / 4));

                return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
        };
}

/* A legend with ranges may need two lines: they are kept for it, so that nothing moves with the crosshair. */
const hasRanges = (data, series) => series.length > 1 && series.some((_, i) => data[2 + 3 * i].some((max, k) => max > data[3 + 3 * i][k]));

/* The values of all series at one place, or the latest: "read 1.2 MiB/s (0 to 3.4 MiB/s)". */
function legend(series, text) {
        const at = el("time"), values = series.map(() => el("b"));
        const element = el("figcaption", { class: "legend" }, at, series.map((s, i) => el("span", null,
                el("i", { class: s.dash ? "dashed" : null, style: { "border-color": `var(--${s.color})` } }), s.name, " ", values[i])));

        return { element, show(data, index) {
                const last = index ?? data[0].length - 1;

                at.textContent = data[0].length ? time(1000 * data[0][last]) : "";
                values.forEach((value, i) => {
                        const [mean, max, min] = [1, 2, 3].map((k) => data[k + 3 * i]?.[last]);

                        value.textContent = mean === null || mean === undefined ? "–" : max > min ? `${text(mean)} (${text(min)} to ${text(max)})` : text(mean);
                });
        } };
}

function axes(unit) {
        const both = { stroke: () => color("soft"), grid: { stroke: () => color("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };

        return [
                { ...both, size: 24, space: 76, incrs: [...STEPS_S, ...DAYS_S], values: (plot, values, axis, space, step) => values.map((v) => (plot.valToPos(v, "x") > plot.width - AXIS_PX - PAD_PX - 14 ? "" : clock(v, step >= 86400))) },
                { ...both, size: AXIS_PX, gap: 6, splits: splits(unit), values: (plot, values) => values.map((v) => (unit === "ratio" ? percent(v, 0) : quantity(v, unit).replace(/\.0+(?=\s)/, ""))) },
        ];
}

/* A single sample is no line. */
const isPoint = (plot) => plot.data[0].length === 1;

/* The line, and the invisible ones that bound the band from the least to the greatest value. */
function lines(series) {
        const bound = { stroke: "transparent", points: { show: false } };

        return [{}, ...series.flatMap((s) => [{ stroke: () => color(s.color), width: 1.6, dash: s.dash, points: { show: isPoint } }, bound, bound])];
}

/* The arrows move the crosshair, by ten points with Shift; + and - show half or twice the time around it. */
function onKey(plot, onselect) {
        return (event) => {
                const times = plot.data[0], last = times.length - 1, at = Math.min(plot.cursor.idx ?? last, last), step = event.shiftKey ? 10 : 1;
                const to = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: last }[event.key];
                const share = { "+": 0.25, "-": 1 }[event.key];

                if (last < 0 || event.ctrlKey || event.altKey || event.metaKey || (to === undefined && !(share && onselect)))
                        return;
                event.preventDefault();
                if (to !== undefined)
                        return plot.setCursor({ left: plot.valToPos(times[Math.max(0, Math.min(last, to))], "x"), top: 0 });
                const half = share * (plot.scales.x.max - plot.scales.x.min);

                onselect(...[times[at] - half, times[at] + half].map((s) => Math.round(1000 * s)));
        };
}

export function timeseries({ label, unit, series, from, to, height = 140, onselect }) {
        const values = legend(series, (v) => quantity(v, unit));
        const box = el("div", { class: "plot-box", style: { height: `${height}px` }, tabindex: "0", role: "group",
                "aria-label": `${label}: arrow keys move through time${onselect ? ", + and - change the range" : ""}` });
        const element = el("figure", { class: "plot", "aria-label": label }, el("h2", null, label), values.element, box);
        let window_s = [from / 1000, to / 1000];
        const plot = new globalThis.uPlot({
                width: 300, height, padding: [8, PAD_PX, 0, 0], legend: { show: false }, axes: axes(unit), series: lines(series),
                cursor: { sync: { key: SYNC }, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, y: false },
                scales: { x: { range: () => window_s }, y: { range: limits(unit) } },
                bands: series.map((s, i) => ({ series: [2 + 3 * i, 3 + 3 * i], fill: () => `${color(s.color)}30` })),
                hooks: {
                        setCursor: [(u) => values.show(u.data, u.cursor.idx)],
                        setData: [(u) => values.show(u.data, u.cursor.idx)],
                        setSelect: [({ select, posToVal }) => {
                                if (select.width > 4)
                                        onselect?.(...[select.left, select.left + select.width].map((px) => Math.round(1000 * posToVal(px, "x"))));
                        }],
                },
        }, [[], ...series.flatMap(() => [[], [], []])], box);
        const resizing = new ResizeObserver(() => box.clientWidth > 0 && plot.setSize({ width: box.clientWidth, height }));
        const dark = matchMedia("(prefers-color-scheme: dark)");
        const redraw = () => plot.redraw();

        resizing.observe(box);
        box.addEventListener("keydown", onKey(plot, onselect));
        box.addEventListener("focus", () => values.element.setAttribute("aria-live", "polite"));
        box.addEventListener("blur", () => values.element.removeAttribute("aria-live"));
        dark.addEventListener("change", redraw);
        return {
                element,
                set(data, begin, end) {
                        window_s = [begin / 1000, end / 1000];
                        values.element.classList.toggle("tall", hasRanges(data, series));
                        plot.setData(data);
                },
                end() {
                        resizing.disconnect();
                        dark.removeEventListener("change", redraw);
                        plot.destroy();
                },
        };
}
