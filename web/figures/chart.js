/* SPDX-License-Identifier: Apache-2.0 */
/* A figure from plain data, as SVG: for the page, and for reports of test results.
 *
 * chart({ kind, title, x, y, legend, facets, rows, levels, marks }) returns an element that follows the width of its place.
 *   kind    line, bar, box, scatter or distribution (the points of each box)
 *   x, y    { key, label, unit }: which members of the rows; x of unit "time" has milliseconds
 *   legend  { key, label }: its values have a colour and a shape each; facets: { key, label }: and these a panel each
 *   rows    flat objects; low and high: a range around y, for line and bar; q1, median, q3, low and high: a box that is known; href: a page;
 *           failed: why, of a row that is drawn as a cross, and is in no line, bar or box
 *   levels  [{ from, to, value, low, high }]: a level with its band between two values of x
 *   marks   [{ x, text, tone }]: places on x, such as changes; with to: a span */

import { dataOf } from "./data.js";
import { bands, box, categories, extent, linear, ticks, timeTicks } from "./scale.js";
import { el, svg } from "../app/dom.js";
import { clock, cut, figure, percent, plural, quantity, time } from "../app/format.js";

const HEIGHT = 240, LEFT = 70, RIGHT = 12, TOP = 10, BOTTOM = 34;
const N_COLOURS = 6, N_FACETS = 24, N_ROWS = 5000;
const SHAPES = ["M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "M-3 -3h6v6h-6z", "M0 -4l4 7h-8z", "M-4 0l4 -4l4 4l-4 4z", "M0 4l4 -7h-8z", "M-3.5 -3.5l7 7m0 -7l-7 7"];
const DASHES = [null, "7 3", "2 3", "9 3 2 3", "4 4", "12 3"];
const f = (v) => v.toFixed(1);

const words = (v, unit) => (v === null || v === undefined ? "none" : unit === "time" ? time(v) : typeof v === "number" ? quantity(v, unit) : cut(typeof v === "string" ? v : JSON.stringify(v), 60));
const tone = (i) => `s${i % N_COLOURS}`;

function shape(i, x, y, text, href) {
        const mark = svg("path", { class: `mark ${tone(i)}`, d: SHAPES[i % N_COLOURS], transform: `translate(${f(x)} ${f(y)})` }, svg("title", null, text));

        return href ? svg("a", { href, "aria-label": text }, mark) : mark;
}

/* What is known of a test that failed: a cross beside the others. */
const cross = (spec, row, x, y) => svg("path", { class: "mark failed", d: "M-4 -4l8 8m0 -8l-8 8", transform: `translate(${f(x)} ${f(y)})` }, svg("title", null, `${say(spec, row)}, failed: ${cut(row.failed, 80)}`));

/* What all panels share. */
function plan(spec, rows) {
        const isBand = spec.kind === "bar" || spec.kind === "box" || spec.kind === "distribution" || !rows.every((r) => typeof r[spec.x.key] === "number");
        const levels = spec.levels ?? [];
        const ys = [...rows.flatMap((r) => [r[spec.y.key], r.low, r.high, r.q1, r.q3]), ...levels.flatMap((l) => [l.value, l.low, l.high])].filter(Number.isFinite);

        return {
                isAlone: !spec.legend || new Set(rows.map((r) => JSON.stringify([r[spec.x.key], r[spec.legend.key]]))).size === new Set(rows.map((r) => r[spec.x.key])).size,
                isBand, xs: categories(rows, spec.x.key), series: spec.legend ? categories(rows, spec.legend.key) : [null],
                xRange: isBand ? null : [Math.min(...rows.map((r) => r[spec.x.key])), Math.max(...rows.map((r) => r[spec.x.key]))],
                yRange: spec.y.unit === "ratio" && ys.every((v) => v >= 0 && v <= 1) ? [0, 1] : extent(ys, spec.kind === "bar" || spec.y.zero),
        };
}

function axes(spec, its, px, py, width) {
        const bottom = HEIGHT - BOTTOM, room = width - LEFT - RIGHT;
        const isTime = spec.x.unit === "time" && !its.isBand, times = isTime && timeTicks(...its.xRange, Math.max(Math.floor(room / 70), 1));
        const values = its.isBand ? its.xs : isTime ? times.at : ticks(...its.xRange, Math.max(Math.floor(room / 70), 1));
        const text = (v) => (isTime ? clock(v / 1000, times.step >= 86400e3) : cut(words(v, spec.x.unit), 24));
        const longest = its.isBand ? Math.min(Math.max(...values.map((v) => words(v, spec.x.unit).length)), 24) : 0;
        const each = its.isBand ? Math.max(Math.ceil((longest * 6 + 10) / px.width), 1) : 1;
        const steps = ticks(...its.yRange, 4, spec.y.unit), isLong = steps.some((v) => words(v, spec.y.unit).length > 11); /* the label has the unit */

        return [
                steps.map((v) => [
                        svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: f(py(v)), y2: f(py(v)) }),
                        svg("text", { x: LEFT - 6, y: f(py(v) + 4), "text-anchor": "end" }, isLong ? figure(v) : spec.y.unit === "ratio" ? percent(v, its.yRange[1] > 0.1 ? 0 : 1) : words(v, spec.y.unit))]),
                values.filter((v, i) => (i % each === 0 || values.length <= 2) && (!isTime || values.length === 1 || px(v) < width - 22)).map((v) => svg("text", { x: f(px(v)), y: bottom + 15, "text-anchor": "middle" }, text(v))),
                svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom }),
                spec.x.label && svg("text", { class: "label", x: f(LEFT + room / 2), y: HEIGHT - 4, "text-anchor": "middle" }, cut(spec.x.label, 60)),
        ];
}

function context(spec, px, py, half) {
        const y = (v) => f(py(v));

        return [
                (spec.levels ?? []).map((l) => {
                        const a = px(l.from) - half, b = px(l.to) + half;

                        return [Number.isFinite(l.low) && svg("rect", { class: "band", x: f(a), width: f(Math.max(b - a, 1)), y: y(l.high), height: f(Math.max(py(l.low) - py(l.high), 0.5)) }),
                                svg("line", { class: "level", x1: f(a), x2: f(b), y1: y(l.value), y2: y(l.value) }, svg("title", null, `level ${words(l.value, spec.y.unit)}`))];
                }),
                (spec.marks ?? []).map((m) => (m.to === undefined
                        ? svg("line", { class: `change ${m.tone}`, x1: f(px(m.x) - half), x2: f(px(m.x) - half), y1: TOP, y2: HEIGHT - BOTTOM }, svg("title", null, cut(m.text, 120)))
                        : svg("rect", { class: `span ${m.tone}`, x: f(px(m.x)), width: f(Math.max(px(m.to) - px(m.x), 1)), y: TOP, height: HEIGHT - BOTTOM - TOP }, svg("title", null, cut(m.text, 120))))),
        ];
}

function lines(spec, rows, i, px, py) {
        const y = spec.y.key, known = rows.filter((r) => Number.isFinite(r[y])), isFew = known.length <= 80;
        let path = "", isBroken = true;

        for (const r of rows) {
                if (Number.isFinite(r[y]))
                        path += `${isBroken ? "M" : "L"}${f(px(r[spec.x.key]))} ${f(py(r[y]))}`;
                isBroken = !Number.isFinite(r[y]);
        }
        return [
                known.map((r) => Number.isFinite(r.low) && svg("line", { class: `range ${tone(i)}`, x1: f(px(r[spec.x.key])), x2: f(px(r[spec.x.key])), y1: f(py(r.low)), y2: f(py(r.high)) })),
                svg("path", { class: `line ${tone(i)}`, d: path, "stroke-dasharray": DASHES[i % N_COLOURS] }),
                known.map((r) => (isFew || r.href) && shape(i, px(r[spec.x.key]), py(r[y]), say(spec, r), r.href)),
        ];
}

function boxes(spec, rows, i, x, width, py, isFaint) {
        const known = rows.find((r) => Number.isFinite(r.q1)), b = known ?? box(rows.map((r) => r[spec.y.key]));
        const half = Math.min(width * 0.42, 26), y = (v) => f(py(v));

        if (!Number.isFinite(b.median))
                return null;
        return svg("g", { class: `box ${tone(i)} ${isFaint ? "faint" : ""}` },
                svg("title", null, `${say(spec, rows[0], true)} median ${words(b.median, spec.y.unit)}, quartiles ${words(b.q1, spec.y.unit)} to ${words(b.q3, spec.y.unit)}, ${plural(b.n ?? rows.length, "run")}`),
                svg("line", { x1: f(x), x2: f(x), y1: y(b.low), y2: y(b.high) }),
                svg("rect", { x: f(x - half), width: f(2 * half), y: y(b.q3), height: f(Math.max(py(b.q1) - py(b.q3), 1)) }),
                svg("line", { class: "median", x1: f(x - half), x2: f(x + half), y1: y(b.median), y2: y(b.median) }),
                !isFaint && !known && rows.filter((r) => r[spec.y.key] < b.low || r[spec.y.key] > b.high).map((r) => shape(i, x, py(r[spec.y.key]), say(spec, r), r.href)));
}

function bar(spec, row, i, x, width, py) {
        const v = row?.[spec.y.key], half = Math.min(width * 0.42, 30), zero = py(0);

        if (!Number.isFinite(v))
                return null;
        return [svg("rect", { class: `column ${tone(i)}`, x: f(x - half), width: f(2 * half), y: f(Math.min(py(v), zero)), height: f(Math.max(Math.abs(py(v) - zero), 0.5)) }, svg("title", null, say(spec, row))),
                Number.isFinite(row.low) && svg("line", { class: "whisker", x1: f(x), x2: f(x), y1: f(py(row.low)), y2: f(py(row.high)) })];
}

/* A row in words. */
function say(spec, row, isGroup = false) {
        return [spec.facets, spec.legend, spec.x].filter((of) => of && row[of.key] !== undefined).map((of) => words(row[of.key], of.unit)).join(", ")
                + (isGroup ? ":" : `: ${words(row[spec.y.key], spec.y.unit)}${Number.isFinite(row.low) ? ` (${words(row.low, spec.y.unit)} to ${words(row.high, spec.y.unit)})` : ""}`);
}

/* Points beside each other, so that equal values are seen: the same places in each drawing. */
const beside = (k, width) => (((k * 0.618034) % 1) - 0.5) * Math.min(width * 0.7, 44);

function panel(spec, its, rows, width) {
        const px = its.isBand ? bands(its.xs, [LEFT, width - RIGHT]) : linear(its.xRange, [LEFT + 6, width - RIGHT - 6]);
        const py = linear(its.yRange, [HEIGHT - BOTTOM, TOP]);
        const n = its.isAlone ? 1 : its.series.length, slot = its.isBand ? (px.width * 0.92) / n : 0;
        const drawn = its.series.map((s, i) => {
                const all = spec.legend ? rows.filter((r) => (r[spec.legend.key] ?? null) === s) : rows, mine = all.filter((r) => !r.failed);
                const atX = (x) => px(x) + (its.isBand && n > 1 ? (i - (n - 1) / 2) * slot : 0), isOverX = spec.kind === "line" || spec.kind === "scatter";
                const crosses = all.filter((r) => r.failed && Number.isFinite(r[spec.y.key])).map((r) => cross(spec, r, (isOverX ? px : atX)(r[spec.x.key] ?? null), py(r[spec.y.key])));

                if (spec.kind === "line")
                        return [lines(spec, mine, i, px, py), crosses];
                if (spec.kind === "scatter")
                        return [mine.filter((r) => Number.isFinite(r[spec.y.key])).map((r) => shape(i, px(r[spec.x.key]), py(r[spec.y.key]), say(spec, r), r.href)), crosses];
                return [its.xs.map((x) => {
                        const group = mine.filter((r) => (r[spec.x.key] ?? null) === x);

                        if (group.length === 0)
                                return null;
                        if (spec.kind === "bar")
                                return bar(spec, group[0], i, atX(x), slot, py);
                        return [boxes(spec, group, i, atX(x), slot, py, spec.kind === "distribution"), spec.kind === "distribution"
                                && group.filter((r) => Number.isFinite(r[spec.y.key])).map((r, k) => shape(i, atX(x) + beside(k + 1, slot), py(r[spec.y.key]), say(spec, r), r.href))];
                }), crosses];
        });

        return svg("svg", { class: "chart", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: rows.some((r) => r.href) ? "group" : "img", "aria-label": describe(spec, its, rows) },
                axes(spec, its, px, py, width), context(spec, px, py, its.isBand ? px.width / 2 : 0), drawn);
}

function describe(spec, its, rows) {
        const ys = rows.map((r) => r[spec.y.key] ?? r.median).filter(Number.isFinite);

        const reach = ys.length ? ` from ${words(Math.min(...ys), spec.y.unit)} to ${words(Math.max(...ys), spec.y.unit)}` : "";

        return `${cut(spec.title, 100)}: ${plural(rows.length, "point")}${reach}, ${cut(spec.y.label ?? spec.y.key, 60)} by ${cut(spec.x.label ?? spec.x.key, 60)}`;
}

function legend(spec, its) {
        return spec.legend && el("p", { class: "legend keys" }, `${cut(spec.legend.label ?? spec.legend.key, 40)}: `, its.series.map((s, i) => el("span", null,
                svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, spec.kind === "line" && svg("line", { class: `line ${tone(i)}`, x1: 0, x2: 22, y1: 6, y2: 6, "stroke-dasharray": DASHES[i % N_COLOURS] }),
                        svg("path", { class: `mark ${tone(i)}`, d: SHAPES[i % N_COLOURS], transform: "translate(11 6)" })), " ", words(s, spec.legend.unit))));
}

export function chart(spec) {
        const rows = spec.rows.slice(0, N_ROWS), its = plan(spec, rows);
        const panels = (spec.facets ? categories(rows, spec.facets.key).slice(0, N_FACETS) : [null]).map((value) => {
                const mine = spec.facets ? rows.filter((r) => (r[spec.facets.key] ?? null) === value) : rows;
                const place = el("div", { class: "panel" });

                new ResizeObserver(([{ contentRect: { width } }]) => {
                        if (width > LEFT + RIGHT && Math.abs(width - (place.firstChild?.width?.baseVal.value ?? 0)) > 1)
                                place.replaceChildren(panel(spec, its, mine, Math.floor(width)));
                }).observe(place);
                return el("div", null, spec.facets && el("h3", null, `${cut(spec.facets.label ?? spec.facets.key, 40)} ${words(value, spec.facets.unit)}`), place);
        });

        return el("figure", { class: "figure", "aria-label": cut(spec.title, 100) }, el("h2", null, cut(spec.title, 100)),
                spec.y.label && el("figcaption", { class: "note" }, cut(spec.y.label, 120)), legend(spec, its),
                rows.length === 0 ? el("p", { class: "note" }, "No points: nothing meets the conditions.") : el("div", { class: panels.length > 1 ? "facets" : "" }, panels),
                rows.some((r) => r.failed) && el("p", { class: "note" }, "Crosses are tests that failed."),
                spec.rows.length > N_ROWS && el("p", { class: "note" }, `The first ${figure(N_ROWS)} of ${figure(spec.rows.length)} points are drawn.`),
                dataOf(spec.title, spec.rows));
}
