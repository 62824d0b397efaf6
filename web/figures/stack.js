/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a whole in one bar: stack([{ name, value, color }]), values from 0 to 1. */

import { el } from "../app/dom.js";
import { percent } from "../app/format.js";

export function stack(parts) {
        const known = parts.filter((p) => Number.isFinite(p.value) && p.value > 0);
        const text = known.map((p) => `${p.name} ${percent(p.value)}`).join(", ");

        return el("span", { class: "bar stack", role: "img", "aria-label": text, title: text },
                known.map((p) => el("i", { style: { width: `${100 * Math.min(p.value, 1)}%`, background: `var(--${p.color})` } })));
}
