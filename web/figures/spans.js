/* SPDX-License-Identifier: Apache-2.0 */
/* Bars over time, a row for each, above a time axis: spans(rows, from, to), rows: [{ from, to, text, href, tone, title }]. */

import { AXIS_PX, PAD_PX } from "./timeseries.js";
import { timeTicks } from "./scale.js";
import { el } from "../app/dom.js";
import { clock, cut } from "../app/format.js";

const N_TICKS = 5;
const WIDE = 0.3; /* a bar with room for its text */
const LAST = 0.93; /* place for half of the last time on a narrow page */

const inset = { "padding-left": `${AXIS_PX}px`, "padding-right": `${PAD_PX}px` };

function ticks(from, to) {
        const { at, step } = timeTicks(from, to, N_TICKS);

        return el("div", { class: "axis", "aria-hidden": "true" }, at.filter((ms) => ms <= from + LAST * (to - from)).map((ms) => el("time", { style: { left: `${(100 * (ms - from)) / (to - from)}%` } }, clock(ms / 1000, step >= 86400e3))));
}

/* The times below a figure that is as wide as a plot. */
export const axis = (from, to) => el("div", { class: "spans", style: inset }, ticks(from, to));

/* In the bar, or beside it: after an early one, before a late one. */
function place(left, width) {
        if (width >= WIDE)
                return { left: `${100 * left}%` };
        return left + width <= 0.6 ? { left: `max(${100 * left}% + 3px, ${100 * (left + width)}%)` } : { right: `${100 * (1 - left)}%` };
}

export function spans(rows, from, to, label) {
        const share = (t) => Math.min(Math.max((t - from) / (to - from), 0), 1);

        return el("div", { class: "spans", style: inset }, el("div", { class: "rows", role: "list", "aria-label": label }, rows.map((row) => {
                const left = share(row.from), width = Math.max(share(row.to) - left, 0);

                return el("div", { role: "listitem" },
                        el("i", { class: row.tone, style: { left: `${100 * left}%`, width: `max(3px, ${100 * width}%)` } }),
                        el(row.href ? "a" : "span", { href: row.href, title: row.title, style: place(left, width) }, cut(row.text, 48)));
        })), ticks(from, to));
}
