/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a figure: as a table, and to download as CSV or JSON. dataOf(name, rows), rows: flat objects. */

import { el, table } from "../app/dom.js";
import { cut, figure, plural } from "../app/format.js";

const N_SHOWN = 200;

/* A cell of CSV; a program for tables would run a text that begins with one of =+-@. */
function cell(v) {
        const text = v === null || v === undefined ? "" : String(v);
        const safe = typeof v === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;

        return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csv(rows) {
        const keys = [...new Set(rows.flatMap(Object.keys))];

        return [keys.map(cell), ...rows.map((r) => keys.map((k) => cell(r[k])))].map((line) => line.join(",")).join("\r\n");
}

function save(name, text, type) {
        const url = URL.createObjectURL(new Blob([text], { type })), a = el("a", { href: url, download: name });

        a.click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function dataOf(name, rows) {
        const file = name.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 60) || "figure";
        const keys = [...new Set(rows.flatMap(Object.keys))].filter((k) => k !== "href");
        const body = el("div");

        return el("details", { class: "data", ontoggle: (event) => {
                if (!event.target.open || body.hasChildNodes())
                        return;
                body.append(table(keys.map((k) => ({ head: k, cell: (r) => (typeof r[k] === "number" ? figure(r[k]) : cut(r[k] ?? "", 60)) })),
                        rows.slice(0, N_SHOWN), { caption: `Numbers of ${cut(name, 60)}` }));
        } }, el("summary", null, `data, ${plural(rows.length, "row")}`),
        el("p", null, el("button", { type: "button", onclick: () => save(`${file}.csv`, csv(rows), "text/csv") }, "CSV"), " ",
                el("button", { type: "button", onclick: () => save(`${file}.json`, JSON.stringify(rows, null, 1), "application/json") }, "JSON"),
                rows.length > N_SHOWN && ` the first ${N_SHOWN} are shown`), body);
}
