/* SPDX-License-Identifier: Apache-2.0 */
/* Bars over time below a plot, a row for each: spans(rows, from, to), rows: [{ from, to, text, href, tone, title }]. */

import { AXIS_PX, PAD_PX } from "./timeseries.js";
import { el } from "../app/dom.js";
import { cut } from "../app/format.js";

export function spans(rows, from, to, label) {
        const share = (t) => Math.min(Math.max((t - from) / (to - from), 0), 1);

        return el("div", { class: "spans", role: "list", "aria-label": label, style: { "padding-left": `${AXIS_PX}px`, "padding-right": `${PAD_PX}px` } },
                rows.map((row) => {
                        const left = share(row.from), width = Math.max(share(row.to) - left, 0);
                        const isLate = left > 0.6;
                        const place = isLate ? { right: `${100 * (1 - left - width)}%` } : { left: `${100 * left}%` };

                        return el("div", { role: "listitem" },
                                el("i", { class: row.tone, style: { left: `${100 * left}%`, width: `max(3px, ${100 * width}%)` } }),
                                el(row.href ? "a" : "span", { href: row.href, title: row.title, style: place }, cut(row.text, 48)));
                }));
}
