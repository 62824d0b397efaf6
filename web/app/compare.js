/* SPDX-License-Identifier: Apache-2.0 */
/* Two or more jobs side by side: what differs first, then what is equal. */

import { ApiError, find, get, name } from "./api.js";
import { brief, card, el, empty, link, note, table } from "./dom.js";
import { jobGpuModels, jobGpuNumbers } from "./equipment.js";
import { change, cut, jobState, quantity, seconds, time } from "./format.js";
import { build } from "./url.js";
import { bar } from "../figures/meter.js";

const N_MAX = 8;

/* The numbers and texts of an object, by their paths. */
function flatten(object, prefix, rows) {
        for (const [key, value] of Object.entries(object ?? {}))
                if (value !== null && typeof value === "object" && !Array.isArray(value))
                        flatten(value, `${prefix} ${key}`, rows);
                else if (!Array.isArray(value))
                        rows.set(`${prefix} ${key}`, value);
}

function described(job, results) {
        const rows = new Map([
                ["state", jobState(job).text], ["command", job.command], ["user", job.user], ["node", job.on.hostname], ["isolation", job.isolation],
                ["GPUs", jobGpuModels(job.gpus) || null], ["begin", time(job.begin_ms)], ["ranks", job.ranks], ["note", job.note || null],
        ]);

        for (const [key, value] of Object.entries(job.labels))
                rows.set(`label ${key}`, value);
        for (const result of results) {
                rows.set(`${result.name} version`, `${result.component ?? ""} ${result.version ?? ""}`.trim());
                flatten(result.document?.["@parameters"], `${result.name} parameter`, rows);
                for (const facts of ["host", "os", "kernel", "runtime"])
                        if (typeof result.run?.[facts] === "object")
                                flatten(result.run[facts], facts === "host" ? "hardware" : `software ${facts}`, rows);
                        else if (result.run?.[facts])
                                rows.set(`software ${facts}`, result.run[facts]);
                if (result.stack)
                        rows.set("software stack", result.stack);
        }
        return rows;
}

/* Packages that differ between the stacks of the first job and of the first with another. */
async function software(results, signal) {
        const stacks = results.map((r) => r.results.find((x) => x.stack)?.stack);
        const other = stacks.findIndex((s) => s && stacks[0] && s !== stacks[0]);
        const answer = other > 0 && await find(`stacks/${name(stacks[0])}/diff`, { to: stacks[other] }, signal);

        return answer && answer.differ.length > 0 && card("Software that differs", null, table([
                { head: "Package", row: true, cell: (d) => brief(d.key, 60) },
                { head: "First job", cell: (d) => brief(d.values.find((v) => v.results > 0)?.value ?? "–", 40) },
                { head: `Job ${other + 1}`, cell: (d) => brief(d.values.find((v) => v.failed > 0)?.value ?? "–", 40) },
        ], answer.differ, { caption: "Packages that differ" }));
}

/* Rows of all jobs by key: [key, [value of each job]] */
function join(maps) {
        const keys = [...new Set(maps.flatMap((m) => [...m.keys()]))];

        return keys.map((key) => [key, maps.map((m) => m.get(key) ?? null)]);
}

const differs = ([, values]) => new Set(values.map(String)).size > 1;

/* Runs of one name are told apart by their begin. */
function title(job, jobs) {
        const text = job.name || job.id;

        return jobs.some((other) => other !== job && other.name === job.name) ? `${cut(text, 24)}, ${time(job.begin_ms)}` : cut(text, 24);
}

function heads(jobs, make) {
        return jobs.map((job, i) => ({ head: link(build("job", job.id), title(job, jobs)), width: `${70 / jobs.length}%`, cell: (row) => make(row, i) }));
}

function texts(rows, jobs, caption) {
        return table([{ head: "", row: true, cell: ([key]) => cut(key, 60) }, ...heads(jobs, ([, values], i) => (values[i] === null ? "–" : brief(String(values[i]), 120)))], rows, { caption });
}

function numbers(jobs) {
        const all = jobs.map((job) => [...job.metrics.map((m) => [m.key, m.value, m.unit]), ...jobGpuNumbers(job.gpus)]);
        const rows = join(all.map((of) => new Map(of))), units = new Map(all.flat().map(([key, , unit]) => [key, unit]));
        const far = ([, values]) => {
                const known = values.filter((v) => v !== null), most = Math.max(...known), least = Math.min(...known);

                return most > 0 ? (most - least) / most : 0;
        };
        const looksEqual = ([key, values]) => values.every((v) => quantity(v, units.get(key)) === quantity(values[0], units.get(key)));

        return table([
                { head: "Metric", row: true, cell: ([key]) => el("code", null, key.split(/(?<=_)/).map((part) => [part, el("wbr")])) },
                ...heads(jobs, ([key, values], i) => {
                        const v = values[i], base = values[0], most = Math.max(...values.map((x) => x ?? 0));

                        if (v === null)
                                return "–";
                        return [quantity(v, units.get(key)), i > 0 && base ? el("small", null, ` ${change(v / base - 1)}`) : "", bar(most > 0 ? v / most : 0, { label: key })];
                }),
        ], rows.filter((row) => far(row) > 0.05 && !looksEqual(row)).sort((a, b) => far(b) - far(a)), { caption: "Metrics that differ by more than 5 %" });
}

export async function show(at) {
        const ids = at.argument.split(",").filter(Boolean).slice(0, N_MAX);

        if (ids.length < 2)
                throw new ApiError(404, "select two or more jobs to compare them");
        const jobs = (await Promise.all(ids.map((id) => find(`jobs/${name(id)}`, {}, at.signal)))).filter(Boolean);
        const gone = ids.length - jobs.length;
        const results = await Promise.all(jobs.map((job) => get("results", { job: job.id, limit: 20 }, at.signal)));
        const rows = join(jobs.map((job, i) => described(job, results[i].results)));
        const same = rows.filter((row) => !differs(row) && row[1][0] !== null);

        return {
                title: "Compare jobs",
                element: el("div", null, el("h1", null, `Compare ${jobs.length} jobs`), gone > 0 && note(`${gone} of the jobs no longer exist.`),
                        card("Took", null, jobs.map((job) => {
                                const took = (j) => j.metrics.find((m) => m.key === "duration_seconds")?.value ?? 0, longest = Math.max(...jobs.map(took));

                                return el("div", { class: "meter" }, el("span", { class: "what" }, title(job, jobs)), el("b", null, seconds(took(job))), bar(took(job) / longest, { label: "took" }));
                        })),
                        card("What differs", null, texts(rows.filter(differs), jobs, "What differs")),
                        await software(results, at.signal),
                        card("Metrics that differ", null, numbers(jobs), note("By more than 5 %, the largest difference first; changes are against the first job.")),
                        same.length ? el("details", { class: "card" }, el("summary", null, `${same.length} facts are equal`), texts(same, jobs, "What is equal")) : empty("Nothing is equal", "")),
        };
}
