/* SPDX-License-Identifier: Apache-2.0 */
/* A share as a bar, with its words: meter("Memory", 0.25, "16 GiB of 64 GiB"). mark: a second share, as a line. */

import { el } from "../app/dom.js";
import { percent } from "../app/format.js";

const clamp = (v) => Math.min(Math.max(v, 0), 1);

export function bar(ratio, { tone = "", mark = null, label = "" } = {}) {
        const has = Number.isFinite(ratio);

        return el("span", { class: `bar ${tone}`, role: "img", "aria-label": `${label} ${has ? percent(ratio) : "unknown"}`.trim() },
                has && el("i", { style: { width: `${100 * clamp(ratio)}%` } }),
                Number.isFinite(mark) && el("u", { style: { left: `${100 * clamp(mark)}%` } }));
}

export function meter(label, ratio, text, options = {}) {
        return el("div", { class: "meter" }, el("span", { class: "what" }, label), el("b", null, text ?? percent(ratio)),
                Number.isFinite(ratio) && bar(ratio, { label, ...options }));
}
