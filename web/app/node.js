/* SPDX-License-Identifier: Apache-2.0 */
/* The node: utilization over time, devices, pressure, and the jobs in the same time. */

import { get } from "./api.js";
import { card, el, empty, facts, link, note, table } from "./dom.js";
import { equipmentCards, equipmentPlots, heads } from "./equipment.js";
import { bytes, count, figure, jobState, percent, plural, rate, seconds, time } from "./format.js";
import { RANGES, build, range } from "./url.js";
import { bar, meter } from "../figures/meter.js";
import { columns, timeseries } from "../figures/timeseries.js";
import { cores } from "../figures/cores.js";
import { spans } from "../figures/spans.js";

const N_POINTS = 600;
const N_BARS = 12;
const HISTORY_MS = 10000; /* the store has a row for each ten seconds */
const PIECE_MS = 4 * 86400e3, MINUTE_PIECE_MS = 120 * 86400e3; /* minutes are fewer rows */
const RECENT_MS = 600e3; /* of each sample, and of each core */

const PLOTS = [
        { label: "CPU, all cores", unit: "ratio", names: ["cpu"], series: [{ name: "busy", color: "c1" }] },
        { label: "Memory", unit: "ratio", names: ["memory"], series: [{ name: "in use", color: "c2" }] },
        { label: "Disks", unit: "bytes_per_second", names: ["disk_read", "disk_write"], series: [{ name: "read", color: "c3" }, { name: "written", color: "c4", dash: [6, 3] }] },
        { label: "Network", unit: "bytes_per_second", names: ["net_received", "net_sent"], series: [{ name: "received", color: "c5" }, { name: "sent", color: "c6", dash: [6, 3] }] },
        { label: "Pressure", unit: "ratio", names: ["pressure_cpu", "pressure_memory", "pressure_io"],
                series: [{ name: "waited for a CPU", color: "c1" }, { name: "memory", color: "c2", dash: [6, 3] }, { name: "I/O", color: "c4", dash: [2, 3] }] },
];

const value = (list, key) => list.find((m) => m.key === key)?.value;

function big(label, text, small, ratio, tone) {
        return el("div", { class: "big" }, el("span", { class: "what" }, label), el("b", null, text), el("small", null, small),
                ratio !== undefined && bar(ratio, { label, tone }));
}

function numbers(node) {
        const now = node.latest, cpu = now.cpu_utilization, memory = now.memory, load = now.load;

        return [
                big(`CPU, mean of ${node.cpus}`, percent(cpu?.mean), cpu ? `cores ${percent(cpu.min, 0)} to ${percent(cpu.max, 0)}` : "not known yet", cpu?.mean),
                big("Memory in use", percent(now.memory_used_ratio), memory ? `${bytes(memory.total_bytes - memory.available_bytes)} of ${bytes(memory.total_bytes)}` : "", now.memory_used_ratio,
                        now.memory_used_ratio > 0.95 ? "bad" : ""),
                big("Load, 1 min", load ? figure(load.load1) : "–", load ? `5 min ${figure(load.load5)}, 15 min ${figure(load.load15)}` : ""),
                big("Disks", rate(now.disk_read_bytes_per_second), `written ${rate(now.disk_written_bytes_per_second)}`),
                big("Network", rate(now.network_received_bytes_per_second), `sent ${rate(now.network_sent_bytes_per_second)}`),
                ...heads(now).map((head) => big(...head)),
                big("Jobs running", count(node.jobs_running), link(build("jobs", "", { state: "running" }), "show")),
        ];
}

/* Shares of time over thresholds, and waits, since perfd started. */
function since(node) {
        const of = (key) => value(node.metrics, key);
        const kinds = [["mean", "cpu_avg_utilization"], ["all cores", "cpu_all_cpus"], ["any core", "cpu_any_cpu"]];
        const levels = [["20", "over20"], ["40", "over40"], ["80", "over80"], ["100", "at100"]];
        const total_s = of("duration_seconds");
        const waits = [["a CPU", "psi_cpu_some_seconds"], ["memory", "psi_memory_some_seconds"], ["I/O", "psi_io_some_seconds"]];

        return [
                card("Time at or over a utilization", null,
                        table([{ head: "CPU", cell: (r) => r[0], row: true },
                                ...levels.map(([text, suffix]) => ({ head: `${text} %`, cell: (r) => {
                                        const share = of(`${r[1]}_${suffix}_pct`) / 100;

                                        return [percent(share), bar(share, { label: `${r[0]} over ${text} %` })];
                                } }))], kinds, { caption: "Share of the time at or over a utilization" }),
                        note(`Of ${seconds(total_s)} since ${time(node.begin_ms)}.`)),
                card("Something waited for", null,
                        waits.map(([text, key]) => (of(key) === undefined ? meter(text, NaN, "not provided by the kernel")
                                : meter(text, of(key) / total_s, `${percent(of(key) / total_s)}, ${seconds(of(key))}`))),
                        note("Pressure: time in which at least one task waited.")),
        ];
}

function devices(node) {
        const now = node.latest;
        const physical = now.networks.filter((n) => n.class === "physical");

        return [
                card("File systems", null, now.filesystems.map((fs) => meter(fs.mountpoint, fs.used_ratio,
                        `${percent(fs.used_ratio)} of ${bytes(fs.size_bytes)}, ${bytes(fs.available_bytes)} left`, { tone: fs.used_ratio > 0.95 ? "bad" : "" }))),
                card("Disks and interfaces since boot", null,
                        table([
                                { head: "Device", cell: (d) => d.device, row: true }, { head: "Read, received", class: "number", cell: (d) => bytes(d.read_bytes ?? d.received_bytes) },
                                { head: "Written, sent", class: "number", cell: (d) => bytes(d.written_bytes ?? d.sent_bytes) },
                                { head: "Operations, packets", class: "number", cell: (d) => figure(d.reads === undefined ? d.received_packets + d.sent_packets : d.reads + d.writes) },
                                { head: "Errors", class: "number", cell: (d) => (d.receive_errors === undefined ? "" : figure(d.receive_errors + d.send_errors)) },
                        ], [...now.disks.filter((d) => d.class === "physical"), ...physical], { caption: "Disks and interfaces" })),
        ];
}

function picker(at, chosen) {
        return el("div", { class: "picker", role: "group", "aria-label": "Time" },
                Object.keys(RANGES).map((key) => el("a", { href: build("node", "", { range: key }), "aria-current": key === chosen.name ? "true" : null }, key)),
                chosen.live ? el("span", { class: "note" }, "drag in a plot to look closer")
                        : el("span", { class: "note" }, `${time(chosen.from)} to ${time(chosen.to)}`));
}

async function readJobs(at, chosen) {
        const running = await get("jobs", { state: "running", limit: N_BARS, until_ms: Math.round(chosen.to) + 1 }, at.signal);
        const ended = await get("jobs", { since_ms: Math.round(chosen.from), until_ms: Math.round(chosen.to) + 1, limit: N_BARS }, at.signal);
        const all = [...running.jobs, ...ended.jobs.filter((j) => j.state !== "running")].slice(0, N_BARS);

        return { jobs: all, others: ended.others?.running ?? 0 };
}

function jobBars({ jobs, others }, chosen, node) {
        const rows = jobs.map((job) => {
                const state = jobState(job), to = job.end_ms ?? (job.state === "running" ? node.time_ms : job.begin_ms);

                return { from: job.begin_ms, to, text: `${job.name || job.id} · ${state.text}`, tone: state.tone, href: build("job", job.id),
                        title: `${job.user}, ${time(job.begin_ms)}, ${seconds((to - job.begin_ms) / 1000)}` };
        });

        return [
                rows.length ? spans(rows, chosen.from, chosen.to, "Jobs in this time")
                        : empty("No jobs in this time", "perfctl run -- COMMAND runs one."),
                others > 0 && note(`${plural(others, "job")} of other users run as well.`),
        ];
}

const stepOf = (chosen) => Math.max(HISTORY_MS, Math.ceil((chosen.to - chosen.from) / N_POINTS / HISTORY_MS) * HISTORY_MS);

/* Joins timelines whose points lie at multiples of one step. */
export function joinTimelines(parts, step) {
        const known = parts.filter((t) => t.series.cpu.mean.length > 0);
        const begin_ms = Math.min(...known.map((t) => t.begin_ms));
        const n = Math.max(...known.map((t) => (t.begin_ms - begin_ms) / step + t.series.cpu.mean.length));
        const joined = { begin_ms, interval_ms: step, series: {} };

        if (known.length < 2)
                return known[0] ?? parts[0];
        for (const t of known)
                for (const [name, { unit, ...stats }] of Object.entries(t.series)) {
                        joined.series[name] ??= { unit };
                        for (const [stat, values] of Object.entries(stats)) {
                                joined.series[name][stat] ??= Array(n).fill(null);
                                joined.series[name][stat].splice((t.begin_ms - begin_ms) / step, values.length, ...values);
                        }
                }
        return joined;
}

/* A long time is read in pieces, each of which is a short query. */
async function readTimeline(chosen, signal) {
        const step = stepOf(chosen), piece = Math.ceil((step < 60e3 ? PIECE_MS : MINUTE_PIECE_MS) / step) * step;
        const parts = [];

        for (let from = Math.floor(chosen.from / step) * step; from < chosen.to; from += piece) {
                const isLast = from + piece >= chosen.to;
                const until = isLast ? (chosen.live ? undefined : Math.round(chosen.to)) : from + piece;

                parts.push((await get("node/samples", { since_ms: from, until_ms: until, step_ms: step, limit: 1000 }, signal)).timeline);
        }
        return withCores(joinTimelines(parts, step));
}

/* The range of the CPU is that of the cores. */
function withCores(timeline) {
        const { cpu, core_min: least, core_max: most } = timeline.series;

        if (least)
                timeline.series.cpu = { ...cpu, min: least.min, max: most.max };
        return timeline;
}

/* Data of a plot from the points of the API's node/recent, as of columns(). */
function recentColumns({ times_ms, series }, names) {
        return [times_ms.map((ms) => ms / 1000), ...names.flatMap((name) => (name === "cpu" ? [series.cpu, series.core_max, series.core_min]
                : Array(3).fill(series[name] ?? times_ms.map(() => null))))];
}

/* Adds later points to those of node/recent, in place. */
export function append(recent, more) {
        const n = more.times_ms.length, cut = (list) => list.splice(0, Math.max(0, list.length - N_POINTS));
        const n_before = recent.times_ms.length;

        if (n === 0 || (n_before > 0 && more.times_ms[0] <= recent.times_ms[n_before - 1]))
                return;
        recent.times_ms.push(...more.times_ms);
        cut(recent.times_ms);
        for (const name of new Set([...Object.keys(recent.series), ...Object.keys(more.series)])) {
                recent.series[name] ??= Array(n_before).fill(null); /* of equipment that is there now */
                recent.series[name].push(...(more.series[name] ?? Array(n).fill(null)));
                cut(recent.series[name]);
        }
        while (recent.cores.length < more.cores.length)
                recent.cores.push(Array(Math.min(n_before, N_POINTS - n)).fill(null));
        recent.cores.forEach((values, core) => {
                values.push(...(more.cores[core] ?? Array(n).fill(null)));
                cut(values);
        });
}

export async function show(at) {
        let chosen = range(at.params, at.node.time_ms), timeline = null, readAt = 0, recent = null;
        const strip = cores();
        const top = el("div", { class: "bigs" }), bars = el("div"), below = el("div", { class: "grid" });
        const zoom = (from, to) => to - from > 1000 && (location.hash = build("node", "", { from, to }));
        const plots = [], figures = el("div", { class: "plots" }), equipment = el("div", { class: "grid" });
        let before = null, latest = at.node; /* two answers, for rates */

        async function readHistory() {
                timeline = isRecent() ? timeline : await readTimeline(chosen, at.signal);
                bars.replaceChildren(...jobBars(await readJobs(at, chosen), chosen, at.node).filter(Boolean));
                readAt = Date.now();
        }

        const isRecent = () => chosen.live && chosen.to - chosen.from <= RECENT_MS;

        function addPlot(plot) {
                plots.push({ ...plot, figure: timeseries({ ...plot, from: chosen.from, to: chosen.to, onselect: zoom }) });
                figures.append(card(null, null, plots.at(-1).figure.element));
        }

        function draw() {
                const isNew = (plot) => plots.every((p) => p.label !== plot.label);
                const tail = chosen.live ? recent.times_ms.slice(-30).map((time_ms, i, all) => ({
                        time_ms, values: Object.fromEntries(Object.entries(recent.series).map(([name, values]) => [name, values.at(i - all.length)])) })) : [];
                const [from, to] = isRecent() ? [chosen.from, chosen.to] : [at.node.time_ms - RECENT_MS, at.node.time_ms];

                equipmentPlots((isRecent() ? recent : timeline).series).filter(isNew).forEach(addPlot);
                for (const p of plots)
                        p.figure.set(isRecent() ? recentColumns(recent, p.names) : columns(timeline, p.names, tail), chosen.from, chosen.to);
                strip.set(recent, from, to, isRecent() ? undefined : "Each core, last 10 minutes");
        }

        function choose() {
                chosen = range(at.params, at.node.time_ms);
                if (isRecent() && !at.params.get("range") && recent.times_ms.length) /* a young node has no empty plot */
                        chosen.from = Math.min(Math.max(chosen.from, recent.times_ms[0]), chosen.to - 60000);
        }

        /* All points if some are missing: after a pause, or if the clock was set back. */
        async function readRecent(isWhole) {
                const last = recent?.times_ms.at(-1) ?? 0;

                if (isWhole || !last || at.node.time_ms < last)
                        recent = await get("node/recent", {}, at.signal);
                else
                        append(recent, await get("node/recent", { since_ms: last }, at.signal));
        }

        async function update(node) {
                at.node = node;
                await readRecent(!recent);
                choose();
                if ((!timeline && !isRecent()) || !readAt || (chosen.live && Date.now() - readAt > stepOf(chosen)))
                        await readHistory();
                [before, latest] = node.time_ms === latest.time_ms ? [before, latest] : [latest, node];
                top.replaceChildren(...numbers(node));
                if (!equipment.querySelector("details[open]"))
                        equipment.replaceChildren(...equipmentCards(node, before));
                below.replaceChildren(...since(node), ...devices(node));
                draw();
        }

        /* A sample that was sent as an event. */
        async function live(sample) {
                append(recent, sample);
                at.node = { ...at.node, time_ms: sample.times_ms[0] };
                if (chosen.live) {
                        choose();
                        draw();
                }
                if (!before && equipment.hasChildNodes()) /* the first rates of equipment */
                        await update(await get("node", {}, at.signal));
        }

        PLOTS.forEach(addPlot);
        figures.firstChild.after(card(null, null, strip.element)); /* beside the mean of the cores */
        await update(at.node);
        return {
                title: "Node", update, live,
                end: () => plots.forEach((p) => p.figure.end()),
                element: el("div", null, el("h1", { class: "hidden" }, `Node ${at.node.hostname}`), top, picker(at, chosen),
                        figures, equipment, card("Jobs", null, bars), below,
                        facts([["Kernel", at.node.kernel, " ", at.node.machine], ["Sampled every", seconds(at.node.interval_ms / 1000)], ["perfd up since", time(at.node.started_ms)]])),
        };
}
