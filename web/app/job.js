/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a job. */

import { find, get, name } from "./api.js";
import { brief, card, command, el, empty, facts, link, note, table } from "./dom.js";
import { jobGpuCard, jobGpuMeter, jobGpuPlots } from "./equipment.js";
import { bytes, change, count, cpus, cut, failure, figure, joules, percent, plural, quantity, seconds, time, utc } from "./format.js";
import { chip, statePill, took } from "./jobs.js";
import { verdictCard } from "./pipelines.js";
import { build } from "./url.js";
import { bar, meter } from "../figures/meter.js";
import { columns, timeseries } from "../figures/timeseries.js";
import { spans } from "../figures/spans.js";

const PLOTS = [
        { label: "CPU of the node", unit: "ratio", names: ["cpu"], series: [{ name: "busy", color: "c1" }] },
        { label: "Memory of the node", unit: "ratio", names: ["memory"], series: [{ name: "in use", color: "c2" }] },
        { label: "Disks", unit: "bytes_per_second", names: ["disk_read", "disk_write"], series: [{ name: "read", color: "c3" }, { name: "written", color: "c4", dash: [6, 3] }] },
        { label: "Network", unit: "bytes_per_second", names: ["net_received", "net_sent"], series: [{ name: "received", color: "c5" }, { name: "sent", color: "c6", dash: [6, 3] }] },
];

/* Numbers by key; absent ones with their reason. */
function reader(job) {
        const values = new Map(job.metrics.map((m) => [m.key, m])), reasons = new Map(job.absent.map((a) => [a.key, a.reason]));

        return {
                get: (key) => values.get(key)?.value,
                why: (key) => reasons.get(key) ?? "not measured",
        };
}

function orWhy(m, key, make) {
        return m.get(key) === undefined ? el("div", { class: "meter" }, el("span", { class: "what" }, make.label), el("span", { class: "note" }, m.why(key))) : make(m.get(key));
}

function used(job, m) {
        const given = m.get("job_cpus_given"), limit = job.limits.memory_bytes ?? job.on.memory_bytes, total_s = m.get("duration_seconds");
        const rows = [
                ["job_cpus_used", "CPUs", (v) => meter("CPUs", v / given, `${cpus(v)} of ${cpus(given)}, peak ${cpus(m.get("job_cpus_used_peak"))}`, { mark: m.get("job_cpus_used_peak") / given })],
                ["job_memory_peak_bytes", "Memory", (v) => meter("Memory, peak", v / limit, `${bytes(v)} of ${bytes(limit)}${job.limits.memory_bytes ? "" : " of the node"}`)],
                ...(job.gpus.length ? [["job_gpu_used_seconds", "GPUs", () => jobGpuMeter(m.get)]] : []),
                ...(m.get("job_energy_joules") === undefined ? [] : [["job_energy_joules", "Energy", (v) => meter("Energy of processors and memory, its share", NaN, joules(v))]]),
                ["job_io_read_bytes", "Disks", (v) => meter("Disks", NaN, `${bytes(v)} read, ${bytes(m.get("job_io_written_bytes"))} written`)],
                ["job_psi_cpu_some_seconds", "Waited for CPUs", (v) => meter("Waited for CPUs", v / total_s, percent(v / total_s))],
                ["job_psi_memory_some_seconds", "Waited for memory", (v) => meter("Waited for memory", v / total_s, percent(v / total_s))],
                ["job_psi_io_some_seconds", "Waited for I/O", (v) => meter("Waited for I/O", v / total_s, percent(v / total_s))],
        ];

        return rows.map(([key, label, make]) => orWhy(m, key, Object.assign(make, { label })));
}

function nodeDuring(job, m) {
        const of = (key) => m.get(key);

        return [
                meter("CPUs busy", of("cpu_avg_utilization_pct") / 100, `${percent(of("cpu_avg_utilization_pct") / 100)}, peak ${percent(of("max_t_cpu_pct_per_cpu_avg") / 100)}`,
                        { mark: of("max_t_cpu_pct_per_cpu_avg") / 100 }),
                meter("Memory, peak", of("max_t_mem_percent") / 100, `${percent(of("max_t_mem_percent") / 100)} of ${bytes(job.on.memory_bytes)}`),
                meter("Disks", NaN, `${quantity(of("total_disk_io_read_mb"), "MiB")} read, ${quantity(of("total_disk_io_write_mb"), "MiB")} written`),
                meter("Network", NaN, `${quantity(of("total_net_io_ext_recv_mb"), "MiB")} received, ${quantity(of("total_net_io_ext_sent_mb"), "MiB")} sent`),
                of("total_net_io_ib_recv_mb") !== undefined
                        && meter("Fabric", NaN, `${quantity(of("total_net_io_ib_recv_mb"), "MiB")} received, ${quantity(of("total_net_io_ib_sent_mb"), "MiB")} sent`),
                of("total_netfs_read_mb") !== undefined
                        && meter("Network file systems", NaN, `${quantity(of("total_netfs_read_mb"), "MiB")} read, ${quantity(of("total_netfs_written_mb"), "MiB")} written`),
                of("gpu_avg_sm_active_pct") !== undefined && meter("GPUs of the node, SM active", of("gpu_avg_sm_active_pct") / 100),
                of("total_energy_joules") !== undefined && meter("Energy of processors and memory", NaN, joules(of("total_energy_joules"))),
        ];
}

function phases(job) {
        const total = job.phases.reduce((sum, p) => sum + p.seconds, 0);
        const of = (p, key) => p.metrics.find((x) => x.key === key)?.value;

        if (job.phases.length === 0)
                return null;
        return card("Phases", null, table([
                { head: "Phase", row: true, cell: (p) => (p.name ? brief(p.name, 60) : "before the first mark") },
                { head: "Time", class: "number", cell: (p) => seconds(p.seconds) },
                { head: "Share", class: "share", cell: (p) => [percent(p.seconds / total), bar(p.seconds / total, { label: "share of the time" })] },
                { head: "CPUs", class: "number", cell: (p) => cpus(of(p, "job_cpus_used")) },
                { head: "Memory", class: "number", cell: (p) => bytes(of(p, "job_memory_peak_bytes")) },
                { head: "Read", class: "number", cell: (p) => bytes(of(p, "job_io_read_bytes") ?? NaN) },
                { head: "Written", class: "number", cell: (p) => bytes(of(p, "job_io_written_bytes") ?? NaN) },
                ...(job.phases.some((p) => of(p, "job_energy_joules") !== undefined) ? [{ head: "Energy", class: "number", cell: (p) => joules(of(p, "job_energy_joules")) }] : []),
        ], job.phases, { caption: "Phases" }), job.phases_truncated && note("Later phases are not shown."));
}

function allNumbers(job) {
        return el("details", { class: "card" }, el("summary", null, `All ${job.metrics.length} metrics, and ${job.absent.length} that are absent`),
                table([
                        { head: "Metric", row: true, cell: (x) => el("code", null, x.key) },
                        { head: "Of", cell: (x) => x.scope },
                        { head: "Value", class: "number", cell: (x) => (x.reason ? "–" : quantity(x.value, x.unit)) },
                        { head: "Quality", cell: (x) => x.reason ?? `${x.quality}${x.interval_ms ? `, every ${seconds(x.interval_ms / 1000)}` : ""}` },
                ], [...job.metrics, ...job.absent], { caption: "Metrics" }));
}

function resultsTable(results) {
        return table([
                { head: "Indicator", row: true, cell: (r) => link(build("indicator", r.name), brief(r.name, 40)) },
                { head: "Component", cell: (r) => brief(r.component, 24) },
                { head: "Version", cell: (r) => brief(r.version ?? "–", 24) },
                { head: "Result", class: "labels", cell: (r) => Object.entries(r.document?.["@result"] ?? {}).slice(0, 6)
                        .map(([key, v]) => el("span", { class: "chip" }, `${key} ${typeof v === "number" ? figure(v) : brief(String(v), 24).textContent}`)) },
                { head: "Time", cell: (r) => time(r.time_ms) },
        ], results, { caption: "Results" });
}

/* What else ran on the node: who may have disturbed the job. */
function others(job, m, jobs, hidden) {
        const total_s = m.get("duration_seconds"), busy = (m.get("cpu_avg_utilization_pct") / 100) * job.on.cpus;
        const rest = Math.max(busy - m.get("job_cpus_used"), 0), steal = m.get("cpu_steal_seconds") / (total_s * job.on.cpus);
        const share = (key) => m.get(key) / total_s;

        return card("Others on the node during the job", null,
                Number.isFinite(rest) && meter("CPUs that others used", rest / job.on.cpus, `${cpus(rest)} of ${cpus(job.on.cpus)}`),
                meter("The job waited for a CPU", share("job_psi_cpu_some_seconds"), m.get("job_psi_cpu_some_seconds") === undefined ? m.why("job_psi_cpu_some_seconds") : percent(share("job_psi_cpu_some_seconds"))),
                Number.isFinite(steal) && meter("Given to other guests of the hypervisor", steal, percent(steal)),
                jobs.length ? table([
                        { head: "Job at the same time", row: true, cell: (j) => link(build("job", j.id), brief(j.name || j.id, 40)) },
                        { head: "User", cell: (j) => brief(j.user || `uid ${j.uid ?? "?"}`, 20) },
                        { head: "CPUs used", class: "number", cell: (j) => cpus(j.metrics?.job_cpus_used) },
                        { head: "Begin", cell: (j) => time(j.begin_ms) },
                ], jobs, { caption: "Jobs at the same time" }) : note("No other job ran at that time: processes outside of jobs used what others used."),
                hidden > 0 && note(`Jobs of other users are shown to their users and to administrators; ${count(hidden)} run now.`));
}

/* Runs of the same name, each with a way to compare. */
function siblings(job, jobs, now_ms) {
        return card(`Other runs of ${cut(job.name, 40)}`, null, table([
                { head: "Run", row: true, cell: (j) => link(build("job", j.id), time(j.begin_ms)) },
                { head: "State", cell: (j) => [statePill(j), " ", failure(j)] },
                { head: "Took", class: "number", cell: (j) => seconds(took(j, now_ms)) },
                { head: "Against this", class: "number", cell: (j) => change(took(j, now_ms) / took(job, now_ms) - 1) },
                { head: "Peak memory", class: "number", cell: (j) => bytes(j.metrics?.job_memory_peak_bytes) },
                { head: "", cell: (j) => link(build("compare", `${job.id},${j.id}`), "compare") },
        ], jobs, { caption: "Other runs" }), note(link(build("jobs", "", { name: job.name }), "All runs of this name")));
}

const N_OTHERS = 8;
const N_TAIL = 600; /* samples after those of the store */
const NUMBERS_MS = 2000;
const N_BEFORE = 100; /* begun before the end of the job: earlier ones are found only if they still run */

async function readRelated(job, node, signal) {
        const end = Math.round(job.end_ms ?? node.time_ms), before = { until_ms: end + 1, limit: N_BEFORE };
        const [recent, running, same] = await Promise.all([get("jobs", before, signal), get("jobs", { ...before, state: "running" }, signal),
                job.name ? get("jobs", { name: job.name, limit: N_OTHERS + 1 }, signal) : { jobs: [] }]);
        const others = new Map([...running.jobs, ...recent.jobs].map((j) => [j.id, j]));

        others.delete(job.id);
        return { overlap: [...others.values()].filter((j) => (j.end_ms ?? (j.state === "running" ? end : 0)) > job.begin_ms).slice(0, N_OTHERS),
                hidden: recent.others?.running ?? 0, same: same.jobs.filter((j) => j.id !== job.id).slice(0, N_OTHERS) };
}

function hero(job, node) {
        const end_ms = job.end_ms ?? (job.state === "running" ? node.time_ms : NaN);
        const took_s = job.metrics.find((m) => m.key === "duration_seconds")?.value ?? (end_ms - job.begin_ms) / 1000;

        return [
                el("h1", null, brief(job.name || job.id, 80), " ", statePill(job)),
                failure(job) && el("p", { class: "verdict" }, `Failed: ${failure(job)}.`),
                el("p", { class: "note" }, job.name ? job.id : "", job.note && [" · ", brief(job.note, 200)]),
                job.command ? el("p", { class: "command" }, el("code", null, brief(job.command, 600)))
                        : job.hidden.command && note(`The command line is ${job.hidden.command}`),
                facts([
                        ["Took", Number.isFinite(took_s) ? seconds(took_s) : "unknown"],
                        ["Begin", el("time", { title: utc(job.begin_ms) }, time(job.begin_ms))],
                        ["End", job.end_ms ? el("time", { title: utc(job.end_ms) }, time(job.end_ms)) : job.state === "running" ? "runs" : "unknown"],
                        ["User", brief(job.user || `uid ${job.uid ?? "?"}`, 24)], ["Node", job.on.hostname],
                        ["Rank", job.rank !== null ? `${job.rank} of ${job.ranks ?? "?"}` : ""],
                        ["Isolation", job.isolation], ["Labels", Object.entries(job.labels).map(([key, value]) => chip(key, value))].map((v) => (v.length ? v : null)),
                ]),
                job.advice.length > 0 && el("ul", { class: "advice" }, job.advice.map((a) => el("li", null, a.text, " ", el("small", null, a.rule)))),
        ];
}

export async function show(at) {
        const id = at.argument;
        const body = el("div"), history = el("div");
        const plots = [], cards = el("div", { class: "plots" });
        const phaseBars = el("div");
        const tail = []; /* samples of the node since the timeline was read */
        let job = null, samples = null, readAt = 0;

        history.append(cards);
        PLOTS.forEach(addPlot);

        function addPlot(p) {
                plots.push({ ...p, figure: timeseries({ ...p, from: 0, to: 1 }) });
                cards.append(card(null, null, plots.at(-1).figure.element));
        }

        async function update(node) {
                job = await get(`jobs/${name(id)}`, {}, at.signal);
                const [timeline, pipeline, results] = await Promise.all([
                        get(`jobs/${name(id)}/samples`, {}, at.signal), find(`jobs/${name(id)}/pipeline`, {}, at.signal), get("results", { job: id, limit: 20 }, at.signal)]);
                if (job.state === "running" && tail.length === 0 && !at.isFile)
                        await readTail();
                const related = at.isFile ? null : await readRelated(job, node, at.signal); /* a report that is a file has the job only */
                const m = reader(job), end = job.end_ms ?? node.time_ms;
                const n = timeline.series.cpu.mean.length + tail.length;

                samples = timeline;
                jobGpuPlots(timeline.series).filter((p) => !plots.some((q) => q.label === p.label)).forEach((p) => addPlot({ ...p, isOfGpus: true }));
                readAt = performance.now();
                draw(end);
                history.hidden = n === 0;
                phaseBars.replaceChildren(job.phases.length > 1 ? spans(job.phases.map((p) => ({
                        from: p.begin_ms, to: p.end_ms ?? end, text: `${p.name || "before the first mark"} ${seconds(p.seconds)}`, tone: "live" })), job.begin_ms, end, "Phases") : "");
                const isOpen = body.querySelector("details")?.open;

                body.replaceChildren(...[
                        ...hero(job, node),
                        job.metrics.length === 0 ? empty("No metrics", "The job ended before perfd measured it, or its measurements were lost.")
                                : el("div", { class: "grid" }, card("Allocated and used by the job itself", null, used(job, m)), card(`Node during the job, ${plural(job.on.cpus, "CPU")}`, null, nodeDuring(job, m))),
                        jobGpuCard(job.gpus), n > 0 ? history : note(job.state === "running" ? "The timeline begins with the next sample."
                                : "No timeline: the job was too short, or is too old."), n > 0 && job.phases.length > 1 && card("Phases over time", null, phaseBars),
                        phases(job),
                        related && job.metrics.length > 0 && others(job, m, related.overlap, related.hidden),
                        related?.same.length > 0 && siblings(job, related.same, node.time_ms),
                        (pipeline?.verdicts ?? []).map((v) => verdictCard(v, pipeline.verdicts.length)),
                        results.results.length > 0 && card("Results", null, resultsTable(results.results)),
                        job.metrics.length > 0 && allNumbers(job),
                        command(`perfctl report ${id}`),
                ].flat().filter(Boolean));
                body.querySelector("details")?.toggleAttribute("open", Boolean(isOpen));
                return job.state === "running" ? { update, live } : { update: null, live: null };
        }

        function draw(end_ms) {
                for (const p of plots)
                        if (samples.series.cpu.mean.length + tail.length > 0)
                                p.figure.set(columns(samples, p.names, p.isOfGpus ? [] : tail), job.begin_ms, Math.max(end_ms, job.begin_ms + 1000));
        }

        function addToTail({ times_ms, series }) {
                const after = Math.max(job.begin_ms, tail.at(-1)?.time_ms ?? 0);

                tail.push(...times_ms.map((time_ms, i) => ({ time_ms, values: Object.fromEntries(Object.entries(series).map(([key, values]) => [key, values[i]])) }))
                        .filter((p) => p.time_ms > after));
                tail.splice(0, tail.length - N_TAIL);
        }

        /* The store has a sample each 10 s; perfd has those of the last minutes. */
        async function readTail() {
                addToTail(await get("node/recent", {}, at.signal));
        }

        /* A sample that was sent as an event: the plots go on, and the numbers follow. */
        async function live({ times_ms, series }) {
                addToTail({ times_ms, series });
                if (performance.now() - readAt < NUMBERS_MS)
                        return draw(times_ms[0]);
                readAt = performance.now();
                return update({ ...at.node, time_ms: times_ms[0] });
        }

        const running = await update(at.node);

        return { ...running, title: job.name || id, element: body, end: () => plots.forEach((p) => p.figure.end()) };
}
