/* SPDX-License-Identifier: Apache-2.0 */
/* A heat strip of cores: a row for each core, time from left to right, dark for idle and bright for busy. cores() returns { element, set };
 * set({ times_ms, cores }, from, to): percent of each core in each point, null where it is unknown. */

import { AXIS_PX, PAD_PX } from "./timeseries.js";
import { dataOf } from "./data.js";
import { axis } from "./spans.js";
import { el } from "../app/dom.js";
import { percent, plural, time } from "../app/format.js";

/* Viridis: its brightness grows with the value, so that it can be read without colours. */
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const N_ROWS_MAX = 256;

function shade(v) {
        const at = Math.min(Math.max(v / 100, 0), 1) * (STOPS.length - 1), i = Math.min(Math.floor(at), STOPS.length - 2);

        return STOPS[i].map((c, k) => Math.round(c + (STOPS[i + 1][k] - c) * (at - i)));
}

const mean = (values) => values.reduce((a, v) => a + v, 0) / values.length;

/* More cores than rows: neighbours share a row, which shows the busiest. */
function rowsOf(cores) {
        const n = Math.ceil(cores.length / N_ROWS_MAX);

        return Array.from({ length: Math.ceil(cores.length / n) }, (_, i) => {
                const group = cores.slice(i * n, (i + 1) * n);

                return group.length === 1 ? group[0] : group[0].map((_, k) => Math.max(...group.map((c) => c[k] ?? -1))).map((v) => (v < 0 ? null : v));
        });
}

function tableOf(cores) {
        return cores.map((values, core) => ({ core, known: values.filter((v) => v !== null) })).filter((r) => r.known.length)
                .map(({ core, known }) => ({ core, mean_percent: Number(mean(known).toFixed(1)), least_percent: Math.min(...known), greatest_percent: Math.max(...known) }));
}

function words(rows, from, to) {
        const busiest = rows.reduce((a, r) => (r.mean_percent > a.mean_percent ? r : a), rows[0]);

        return rows.length ? `${plural(rows.length, "core")}, ${time(from)} to ${time(to)}: mean ${percent(mean(rows.map((r) => r.mean_percent)) / 100)}, ` +
                `busiest core ${busiest.core} with ${percent(busiest.mean_percent / 100)}` : "No core is known yet";
}

export function cores() {
        const canvas = el("canvas", { role: "img" }), at = el("span"), data = el("div"), below = el("div"), title = el("h2");
        const scale = el("span", { class: "heat-scale", "aria-hidden": "true", style: { background: `linear-gradient(90deg, ${STOPS.map((c) => `rgb(${c})`).join()})` } });
        let shown = { times_ms: [], rows: [], from: 0, to: 1, height: 1 };

        canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
                const ms = shown.from + (offsetX / canvas.clientWidth) * (shown.to - shown.from), row = Math.floor((offsetY / canvas.clientHeight) * shown.rows.length);
                const i = shown.times_ms.findIndex((t) => t >= ms), v = shown.rows[row]?.[i];

                at.textContent = v === undefined || v === null ? "" : `core ${row}, ${time(shown.times_ms[i])}: ${percent(v / 100, 0)}`;
        });
        function draw() {
                const { times_ms, rows, from, to } = shown, width = times_ms.length ? Math.min(Math.round((to - from) / Math.max(...gaps(times_ms))), 1200) : 1;
                const image = new ImageData(Math.max(width, 1), Math.max(rows.length, 1));

                for (let x = 0, i = 0; x < width && times_ms.length; x++) {
                        const ms = from + ((x + 0.5) / width) * (to - from);

                        while (i < times_ms.length - 1 && times_ms[i] < ms)
                                i++;
                        if (times_ms[i] < ms || ms < times_ms[0] - (to - from) / width)
                                continue;
                        rows.forEach((row, y) => row[i] !== null && row[i] !== undefined && image.data.set([...shade(row[i]), 255], 4 * (y * image.width + x)));
                }
                canvas.width = image.width;
                canvas.height = image.height;
                canvas.getContext("2d").putImageData(image, 0, 0);
        }
        return {
                element: el("figure", { class: "heat" }, title, el("figcaption", { class: "legend" }, el("span", null, "0 ", scale, " 100 % busy"), at),
                        el("div", { style: { "padding-left": `${AXIS_PX}px`, "padding-right": `${PAD_PX}px` } }, canvas), below, data),
                set({ times_ms, cores: all }, from, to, what = "Each core") {
                        const rows = rowsOf(all), listed = tableOf(all), px = Math.min(Math.max(Math.floor(112 / Math.max(rows.length, 1)), 1), 28);

                        shown = { times_ms, rows, from, to };
                        title.textContent = what;
                        below.replaceChildren(axis(from, to));
                        canvas.style.setProperty("height", `${Math.max(px * rows.length, 8)}px`);
                        canvas.setAttribute("aria-label", words(listed, from, to));
                        if (!data.querySelector("details[open]"))
                                data.replaceChildren(dataOf("cores", listed));
                        draw();
                },
        };
}

/* The usual distance of points. */
function gaps(times_ms) {
        const all = times_ms.slice(1).map((t, i) => t - times_ms[i]).filter((d) => d > 0).sort((a, b) => a - b);

        return [all[Math.floor(all.length / 2)] ?? 1000];
}
