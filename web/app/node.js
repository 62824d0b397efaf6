/* SPDX-License-Identifier: Apache-2.0 */
/* The node: utilization over time, devices, pressure, and the jobs in the same time. */

import { get } from "./api.js";
import { card, el, empty, facts, link, note, table } from "./dom.js";
import { bytes, count, figure, jobState, percent, plural, rate, seconds, time } from "./format.js";
import { RANGES, build, range } from "./url.js";
import { bar, meter } from "../figures/meter.js";
import { columns, timeseries } from "../figures/timeseries.js";
import { spans } from "../figures/spans.js";

const N_POINTS = 600;
const N_BARS = 12;
const HISTORY_MS = 10000; /* the store has a row for each ten seconds */
const PIECE_MS = 4 * 86400e3;

const PLOTS = [
        { label: "CPU, all cores", unit: "ratio", names: ["cpu"], series: [{ name: "busy", color: "c1" }] },
        { label: "Memory", unit: "ratio", names: ["memory"], series: [{ name: "in use", color: "c2" }] },
        { label: "Disks", unit: "bytes_per_second", names: ["disk_read", "disk_write"], series: [{ name: "read", color: "c3" }, { name: "written", color: "c4", dash: [6, 3] }] },
        { label: "Network", unit: "bytes_per_second", names: ["net_received", "net_sent"], series: [{ name: "received", color: "c5" }, { name: "sent", color: "c6", dash: [6, 3] }] },
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
                                { head: "Device", cell: (d) => d.device, row: true }, { head: "In", cell: (d) => bytes(d.read_bytes ?? d.received_bytes), title: "read, or received" },
                                { head: "Out", cell: (d) => bytes(d.written_bytes ?? d.sent_bytes), title: "written, or sent" },
                                { head: "Operations", cell: (d) => figure(d.reads === undefined ? d.received_packets + d.sent_packets : d.reads + d.writes), title: "reads and writes, or packets" },
                                { head: "Errors", cell: (d) => (d.receive_errors === undefined ? "" : figure(d.receive_errors + d.send_errors)) },
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
        for (const series of Object.keys(known[0].series)) {
                joined.series[series] = {};
                for (const stat of ["mean", "min", "max"]) {
                        const values = Array(n).fill(null);

                        for (const t of known)
                                t.series[series][stat].forEach((v, i) => (values[(t.begin_ms - begin_ms) / step + i] = v));
                        joined.series[series][stat] = values;
                }
        }
        return joined;
}

/* A long time is read in pieces, each of which is a short query. */
async function readTimeline(chosen, signal) {
        const step = stepOf(chosen), piece = Math.ceil(PIECE_MS / step) * step;
        const parts = [];

        for (let from = Math.floor(chosen.from / step) * step; from < chosen.to; from += piece) {
                const isLast = from + piece >= chosen.to;
                const until = isLast ? (chosen.live ? undefined : Math.round(chosen.to)) : from + piece;

                parts.push((await get("node/samples", { since_ms: from, until_ms: until, step_ms: step, limit: 1000 }, signal)).timeline);
        }
        return joinTimelines(parts, step);
}

export async function show(at) {
        let chosen = range(at.params, at.node.time_ms), timeline = null, readAt = 0;
        const tail = [];
        const top = el("div", { class: "bigs" }), bars = el("div"), below = el("div", { class: "grid" });
        const zoom = (from, to) => to - from > 1000 && (location.hash = build("node", "", { from, to }));
        const plots = PLOTS.map((p) => ({ ...p, figure: timeseries({ ...p, from: chosen.from, to: chosen.to, onselect: zoom }) }));

        async function readHistory() {
                timeline = await readTimeline(chosen, at.signal);
                bars.replaceChildren(...jobBars(await readJobs(at, chosen), chosen, at.node).filter(Boolean));
                readAt = Date.now();
        }

        async function update(node) {
                const now = node.latest;

                at.node = node;
                chosen = range(at.params, node.time_ms);
                if (chosen.live && !at.params.get("range") && timeline?.series.cpu.mean.length) /* a young node has no empty plot */
                        chosen.from = Math.min(Math.max(chosen.from, timeline.begin_ms), chosen.to - 60000);
                tail.push({ time_ms: node.time_ms, values: {
                        cpu: now.cpu_utilization?.mean, memory: now.memory_used_ratio, disk_read: now.disk_read_bytes_per_second,
                        disk_write: now.disk_written_bytes_per_second, net_sent: now.network_sent_bytes_per_second, net_received: now.network_received_bytes_per_second,
                } });
                if (!timeline || (chosen.live && Date.now() - readAt > stepOf(chosen)))
                        await readHistory();
                tail.splice(0, Math.max(0, tail.length - 30));
                top.replaceChildren(...numbers(node));
                below.replaceChildren(...since(node), ...devices(node));
                for (const p of plots)
                        p.figure.set(columns(timeline, p.names, chosen.live ? tail : []), chosen.from, chosen.to);
        }

        await update(at.node);
        return {
                title: "Node", update,
                end: () => plots.forEach((p) => p.figure.end()),
                element: el("div", null, el("h1", { class: "hidden" }, `Node ${at.node.hostname}`), top, picker(at, chosen),
                        el("div", { class: "plots" }, plots.map((p) => card(null, null, p.figure.element))),
                        card("Jobs", null, bars), below,
                        facts([["Kernel", at.node.kernel, " ", at.node.machine], ["Sampled every", seconds(at.node.interval_ms / 1000)], ["perfd up since", time(at.node.started_ms)]])),
        };
}
