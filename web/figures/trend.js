/* SPDX-License-Identifier: Apache-2.0 */
/* A number over versions: medians, the range of each version, and where the level changed: a plot by uPlot.
 *
 * trend({ label, unit, points: [{ label, n, value, low, high }], since }) returns { element, end }; since: label of the first point of
 * the new level, or null. */

import { color } from "./timeseries.js";
import { el } from "../app/dom.js";
import { cut, figure, plural } from "../app/format.js";

const HEIGHT = 260;

/* A line where the level changed, below the points. */
function drawChange(u, index) {
        const x = u.valToPos(index - 0.5, "x", true), { ctx, bbox } = u;

        ctx.save();
        ctx.strokeStyle = color("bad");
        ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.restore();
}

function drawRanges(u, points) {
        const { ctx } = u;

        ctx.save();
        ctx.strokeStyle = color("c1");
        ctx.lineWidth = 1.5 * devicePixelRatio;
        points.forEach((p, i) => {
                const x = u.valToPos(i, "x", true);

                ctx.beginPath();
                ctx.moveTo(x, u.valToPos(p.low, "y", true));
                ctx.lineTo(x, u.valToPos(p.high, "y", true));
                ctx.stroke();
        });
        ctx.restore();
}

export function trend({ label, unit, points, since }) {
        const box = el("div", { class: "plot-box", style: { height: `${HEIGHT}px` } }), at = el("b");
        const changed = points.findIndex((p) => p.label === since);
        const element = el("figure", { class: "plot", "aria-label": label }, el("h2", null, label),
                el("figcaption", { class: "legend" }, changed > 0 && el("span", null, el("i", { class: "dashed", style: { "border-color": "var(--bad)" } }), `changed at ${cut(since, 30)}`), at), box);
        const both = { stroke: () => color("soft"), grid: { stroke: () => color("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
        const name = (i) => (Number.isInteger(i) && points[i] ? cut(points[i].label, 14) : "");
        const say = (i) => {
                const p = points[i ?? points.length - 1];

                at.textContent = `${cut(p.label, 30)}: ${figure(p.value, unit)} (${figure(p.low)} to ${figure(p.high)}), ${plural(p.n, "run")}`;
        };
        const plot = new globalThis.uPlot({
                width: 300, height: HEIGHT, padding: [10, 24, 0, 0], legend: { show: false }, cursor: { y: false, drag: { setScale: false, x: false } },
                scales: { x: { time: false, range: [-0.5, points.length - 0.5] }, y: { range: (u, low, high) => [Math.min(0, ...points.map((p) => p.low)), Math.max(high, ...points.map((p) => p.high)) * 1.08 || 1] } },
                axes: [{ ...both, size: 26, space: 80, incrs: [1, 2, 5, 10, 20, 50, 100], values: (u, values) => values.map(name) },
                        { ...both, size: 90, values: (u, values) => values.map((v) => figure(v, unit)) }],
                series: [{}, { stroke: () => color("c1"), width: 1.2, points: { show: true, size: 7, fill: () => color("panel") } }],
                hooks: { drawAxes: [(u) => {
                        if (changed > 0)
                                drawChange(u, changed);
                        drawRanges(u, points);
                }], setCursor: [(u) => say(u.cursor.idx)] },
        }, [points.map((_, i) => i), points.map((p) => p.value)], box);
        const resizing = new ResizeObserver(() => box.clientWidth > 0 && plot.setSize({ width: box.clientWidth, height: HEIGHT }));

        say(null);
        resizing.observe(box);
        return { element, end() {
                resizing.disconnect();
                plot.destroy();
        } };
}
