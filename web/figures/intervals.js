/* SPDX-License-Identifier: Apache-2.0 */
/* A number with its interval on a scale that all rows share: interval({ value, low, high }, least, greatest). */

import { svg } from "../app/dom.js";

export function interval({ value, low, high, best }, least, greatest) {
        const span = greatest - least || 1;
        const x = (v) => `${2 + 96 * Math.min(Math.max((v - least) / span, 0), 1)}%`;
        const has = Number.isFinite(low) && Number.isFinite(high);

        return svg("svg", { class: "interval", width: "100%", height: 14, "aria-hidden": "true" },
                svg("line", { x1: "2%", x2: "98%", y1: 7, y2: 7, class: "scale" }),
                has && svg("line", { x1: x(low), x2: x(high), y1: 7, y2: 7, class: "range" }),
                svg("circle", { cx: x(value), cy: 7, r: 4, class: best ? "best" : "dot" }));
}
