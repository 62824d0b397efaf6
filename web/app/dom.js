/* SPDX-License-Identifier: Apache-2.0 */
/* Elements. Text becomes text nodes only: what comes from jobs is never markup. */

import { cut, plain } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
        for (const [key, value] of Object.entries(attributes ?? {})) {
                if (value === null || value === undefined || value === false)
                        continue;
                if (key.startsWith("on"))
                        element.addEventListener(key.slice(2), value);
                else if (key === "style")
                        for (const [name, text] of Object.entries(value))
                                element.style.setProperty(name, text);
                else if (key === "value" || key === "checked" || key === "indeterminate")
                        element[key] = value;
                else
                        element.setAttribute(key, value === true ? "" : plain(value));
        }
        element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false)
                .map((c) => (c instanceof Node ? c : document.createTextNode(plain(c)))));
        return element;
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/* A text that may be long: cut, with the whole as tooltip. */
export function brief(text, n = 48) {
        const short = cut(text, n);

        return short === plain(text) ? document.createTextNode(short) : el("span", { title: cut(text, 2000) }, short);
}

export const pill = (text, tone) => el("span", { class: `pill ${tone}` }, text);
export const link = (href, ...children) => el("a", { href }, ...children);
export const note = (...children) => el("p", { class: "note" }, ...children);
export const empty = (title, ...children) => el("div", { class: "empty" }, el("b", null, title), ...children.map((c) => el("p", null, c)));

export function card(title, attributes, ...children) {
        return el("section", { ...attributes, class: `card ${attributes?.class ?? ""}` }, title && el("h2", null, title), ...children);
}

/* A command to copy. */
export function command(text) {
        const button = el("button", { type: "button", onclick: async () => {
                try {
                        await navigator.clipboard.writeText(text);
                        button.textContent = "copied";
                } catch {
                        getSelection().selectAllChildren(code);
                        button.textContent = "selected";
                }
        } }, "copy");
        const code = el("code", null, text);

        return el("p", { class: "command" }, code, button);
}

/* columns: [{ head, cell(row), class, title, sort, width }] */
export function table(columns, rows, { caption, attributes = () => null, sorted, onsort } = {}) {
        const heads = columns.map((c) => el("th", {
                scope: "col", class: c.class, title: c.title, style: c.width && { width: c.width },
                "aria-sort": c.sort && sorted?.replace("-", "") === c.sort ? (sorted.startsWith("-") ? "descending" : "ascending") : null,
        }, c.sort && onsort ? el("button", { type: "button", onclick: () => onsort(sorted === `-${c.sort}` ? c.sort : `-${c.sort}`) }, c.head,
                el("i", { "aria-hidden": "true" }, sorted === c.sort ? " ▲" : sorted === `-${c.sort}` ? " ▼" : "")) : c.head));
        const body = rows.map((row) => el("tr", attributes(row), columns.map((c) => el(c.row ? "th" : "td", { class: c.class, scope: c.row ? "row" : null }, c.cell(row)))));

        return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
                el("table", null, el("caption", { class: "hidden" }, caption), el("thead", null, el("tr", null, heads)), el("tbody", null, body)));
}

export const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter((p) => p && p[1] !== null && p[1] !== undefined && p[1] !== "")
        .map(([name, ...values]) => el("div", null, el("dt", null, name), el("dd", null, values))));

const focusable = (root) => [...root.querySelectorAll("a, button, input, select, summary, [tabindex]")];
const nameOf = (e) => [e.tagName, e.getAttribute("href"), e.dataset.id, e.getAttribute("aria-label"), e.textContent.replace(/ [▲▼]$/, "")].join(" ");

/* Returns a function that puts the keyboard's focus, and tables that were scrolled, where they were before the element changed. */
export function keepPlace(root) {
        const tables = () => [...root.querySelectorAll(".wide")], scrolled = tables().map((e) => e.scrollLeft);
        const focused = root.contains(document.activeElement) && document.activeElement !== root ? document.activeElement : null;
        const place = focused && focusable(root).filter((e) => nameOf(e) === nameOf(focused)).indexOf(focused);

        return () => {
                tables().forEach((e, i) => scrolled[i] && (e.scrollLeft = scrolled[i]));
                if (focused && !focused.isConnected && document.activeElement === document.body)
                        focusable(root).filter((e) => nameOf(e) === nameOf(focused))[place]?.focus({ preventScroll: true });
        };
}
