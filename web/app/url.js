/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a view is in the fragment of the URL: #/jobs?state=running&label=a=b. Pure: no document is needed. */

export function parse(hash) {
        const [path, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
        const parts = path.split("/").filter(Boolean).map(decode);

        return { view: parts[0] ?? "node", argument: parts.slice(1).join("/"), params: new URLSearchParams(query ?? "") };
}

function decode(text) {
        try {
                return decodeURIComponent(text);
        } catch {
                return text; /* typed by hand */
        }
}

/* params: an object or URLSearchParams; empty values are left out */
export function build(view, argument = "", params = {}) {
        const query = new URLSearchParams();

        for (const [key, value] of params instanceof URLSearchParams ? params : Object.entries(params))
                for (const item of Array.isArray(value) ? value : [value])
                        if (item !== "" && item !== null && item !== undefined && item !== false)
                                query.append(key, item === true ? "1" : item);
        const text = query.toString();
        return `#/${view}${argument ? `/${encodeURIComponent(argument)}` : ""}${text ? `?${text}` : ""}`;
}

/* The fragment for a path of earlier versions, "jobs/ID" or "indicators/NAME", or null. */
export function ofPath(path, search = "") {
        const [, view, name] = path.match(/^(jobs|indicators)\/([^/]+)$/) ?? [];

        if (!view)
                return null;
        return build(view === "jobs" ? "job" : "indicator", decode(name), new URLSearchParams(search));
}

export const RANGES = { "10m": 600, "1h": 3600, "6h": 21600, "24h": 86400, "7d": 604800, "30d": 2592000, "1y": 31536000 };

/* Times in ms of "1h", or of from= and to=; live: the end moves with the clock. */
export function range(params, now, fallback = "10m") {
        const from = Number(params.get("from")), to = Number(params.get("to"));
        const name = params.get("range") in RANGES ? params.get("range") : fallback;

        if (from > 0 && to > from)
                return { from, to, name: "", live: false };
        return { from: now - RANGES[name] * 1000, to: now, name, live: true };
}
