/* SPDX-License-Identifier: Apache-2.0 */
/* What only some nodes have: GPUs, ports of a fabric, network file systems, meters of energy. Nothing is shown of a kind that a node has not. */

import { brief, card, el, note, pill, table } from "./dom.js";
import { bytes, count, cpus, figure, joules, percent, plural, rate, seconds, watts } from "./format.js";
import { bar, meter } from "../figures/meter.js";
import { dataOf } from "../figures/data.js";

const PLOTS = [
        { label: "GPUs", unit: "gpus", names: ["gpus_active", "gpus_utilized"], series: [{ name: "active", color: "c3" }, { name: "utilized", color: "c4", dash: [6, 3] }] },
        { label: "Power", unit: "watts", names: ["gpu_power", "power"], series: [{ name: "GPUs", color: "c2" }, { name: "processors and memory", color: "c1", dash: [6, 3] }] },
        { label: "Fabric", unit: "bytes_per_second", names: ["fabric_received", "fabric_sent"], series: [{ name: "received", color: "c5" }, { name: "sent", color: "c6", dash: [6, 3] }] },
        { label: "Network file systems", unit: "bytes_per_second", names: ["netfs_read", "netfs_written"], series: [{ name: "read", color: "c3" }, { name: "written", color: "c4", dash: [6, 3] }] },
];

const JOB_PLOTS = [
        { label: "GPUs of the job", unit: "gpus", names: ["gpus_active", "gpus_utilized"], series: [{ name: "SM active", color: "c3" }, { name: "utilization", color: "c4", dash: [6, 3] }] },
        { label: "Memory of the job's GPUs", unit: "bytes", names: ["gpu_memory"], series: [{ name: "in use", color: "c2" }] },
        { label: "Power of the job's GPUs", unit: "watts", names: ["gpu_power"], series: [{ name: "power", color: "c1" }] },
];

/* Plots of the series that there are. */
function plotsOf(plots, series) {
        return plots.map((p) => ({ ...p, names: p.names.filter((name) => series[name]), series: p.series.filter((_, i) => series[p.names[i]]) }))
                .filter((p) => p.names.length > 0);
}

export const equipmentPlots = (series) => plotsOf(PLOTS, series);
export const jobGpuPlots = (series) => plotsOf(JOB_PLOTS, series);

/* Numbers for the head of the page: [label, text, text below, share]. */
export function heads(now) {
        const gpus = (now.gpus ?? []).filter((gpu) => gpu.counted), sum = (key) => gpus.reduce((total, gpu) => total + (gpu[key] ?? 0), 0);
        const hasSm = gpus.some((gpu) => gpu.gpu_sm_active_ratio !== undefined), utilized = sum("gpu_utilization_ratio"), active = hasSm ? sum("gpu_sm_active_ratio") : utilized;

        return [
                gpus.length > 0 && [hasSm ? "GPUs active" : "GPUs utilized", `${cpus(active)} of ${gpus.length}`,
                        [hasSm && `utilized ${cpus(utilized)}`, now.gpu_power_watts > 0 && watts(now.gpu_power_watts)].filter(Boolean).join(", "), active / gpus.length],
                now.fabric_received_bytes_per_second !== undefined && ["Fabric", rate(now.fabric_received_bytes_per_second), `sent ${rate(now.fabric_sent_bytes_per_second)}`],
                now.netfs_read_bytes_per_second !== undefined && ["Network file systems", rate(now.netfs_read_bytes_per_second), `written ${rate(now.netfs_written_bytes_per_second)}`],
                now.power_watts !== undefined && ["Power", watts(now.power_watts), "processors and memory"],
        ].filter(Boolean);
}

const isLost = (gpu) => gpu.state !== undefined && gpu.state !== "ok";
const isDown = (port) => port.fabric_active === 0 && port.fabric_sent_bytes > 0; /* others may have no cable */

/* What does not work now. */
export const failures = ({ gpus = [], fabric_ports: ports = [] }) => [
        ...gpus.filter(isLost).map((gpu) => `GPU ${gpu.gpu}: ${gpu.state}`), ...ports.filter(isDown).map((port) => `port ${port.port} is down`)];

const GPU_ERRORS = [["gpu_xid_errors", "error of the driver (XID)", "errors of the driver (XID)"],
        ["gpu_ecc_uncorrected_errors", "memory error that was not corrected", "memory errors that were not corrected"], ["gpu_remapped_rows", "replaced row of memory", "replaced rows of memory"]];
const PORT_ERRORS = [["fabric_symbol_errors", "symbol error"], ["fabric_receive_errors", "bad packet received", "bad packets received"],
        ["fabric_send_discards", "packet not sent", "packets not sent"], ["fabric_link_recoveries", "recovery of the link", "recoveries of the link"]];

const JOB_ERRORS = GPU_ERRORS.slice(0, 2).map(([key, ...words]) => [key.replace("gpu_", ""), ...words]);

/* Drivers count the first initialization of a link as well. */
const errorsOf = (item, kinds) => [...kinds.filter(([key]) => item[key] > 0).map(([key, ...words]) => plural(item[key], ...words)),
        ...(item.fabric_link_downs > 1 ? [`${item.fabric_link_downs} times down`] : [])];

/* Per second, between two answers about the node; NaN: not known yet. */
function rises(node, before, list, label) {
        const former = new Map((before?.latest[list] ?? []).map((item) => [item[label], item]));

        return (item, key) => {
                const rise = item[key] - former.get(item[label])?.[key];

                return rise >= 0 ? (1000 * rise) / (node.time_ms - before.time_ms) : NaN;
        };
}

/* The columns of which an item has a value. */
const present = (columns, items) => columns.filter((column) => !column.of || items.some((item) => [column.of].flat().some((key) => (item[key] ?? null) !== null)));

const share = (ratio, label, text = percent(ratio)) => [text, Number.isFinite(ratio) && bar(ratio, { label })];
const small = (texts, n) => el("small", null, brief(texts.filter(Boolean).join(", "), n));

function errorCell(item, kinds) {
        const texts = errorsOf(item, kinds);

        return texts.length ? el("b", { class: "bad" }, texts.join(", ")) : kinds.some(([key]) => Number.isFinite(item[key])) ? "none" : "–";
}

function throttled(gpu, rise) {
        const kinds = [["power", "gpu_power_throttled_seconds"], ["heat", "gpu_heat_throttled_seconds"]].filter(([, key]) => gpu[key] !== undefined);
        const now = kinds.filter(([, key]) => rise(gpu, key) > 0.01).map(([kind]) => kind);

        return [kinds.map(([kind, key]) => `${kind} ${percent(gpu[key] / gpu.gpu_present_seconds)}`).join(", "), now.length > 0 && [" ", pill(`now, ${now.join(" and ")}`, "odd")]];
}

function gpuCard(gpus, rise) {
        const columns = present([
                { head: "GPU", row: true, cell: (g) => [`${g.gpu} `, small([g.model, g.parent && `in GPU ${g.parent}`], 40), " ", isLost(g) && pill(g.state, "bad")] },
                { head: "SM active", of: "gpu_sm_active_ratio", class: "share", title: "part of the multiprocessors that worked", cell: (g) => share(g.gpu_sm_active_ratio, "SM active") },
                { head: "Utilization", of: "gpu_utilization_ratio", class: "share", title: "share of time in which any kernel ran", cell: (g) => share(g.gpu_utilization_ratio, "utilization") },
                { head: "Memory", of: "gpu_memory_used_bytes", class: "share",
                        cell: (g) => share(g.gpu_memory_used_bytes / g.gpu_memory_total_bytes, "memory",
                                g.gpu_memory_used_bytes === undefined ? "–" : `${bytes(g.gpu_memory_used_bytes)} of ${bytes(g.gpu_memory_total_bytes)}`) },
                { head: "Power", of: "gpu_power_watts", class: "share", title: "of the limit, above which the clock is lowered",
                        cell: (g) => share(g.gpu_power_watts / g.gpu_power_limit_watts, "power", watts(g.gpu_power_watts)) },
                { head: "Temperature", of: "gpu_temperature_celsius", class: "number", cell: (g) => figure(Math.round(g.gpu_temperature_celsius), "°C") },
                { head: "Throttled by", class: "labels", of: ["gpu_power_throttled_seconds", "gpu_heat_throttled_seconds"], title: "as a share of the time since counting began", cell: (g) => throttled(g, rise) },
                { head: "Errors", class: "words", of: GPU_ERRORS.map(([key]) => key), cell: (g) => errorCell(g, GPU_ERRORS) },
        ], gpus);

        return card(plural(gpus.filter((g) => !g.parent).length, "GPU"), { class: "whole" }, table(columns, gpus, { caption: "GPUs", attributes: (g) => ({ class: isLost(g) ? "bad" : null }) }),
                note(columns.some((c) => c.head === "SM active") ? "SM active: how much of the multiprocessors worked. " : "These GPUs do not tell how much of their multiprocessors works. ",
                        "Utilization: the share of time in which any kernel ran, however small, as nvidia-smi and rocm-smi have it."), dataOf("GPUs", gpus));
}

function portCard(ports, rise) {
        const traffic = (port, key) => share(rise(port, key) / port.fabric_rate_bytes_per_second, "share of the link's rate", rate(rise(port, key)));

        return card("Ports of the fabric", null, table(present([
                { head: "Port", row: true, cell: (p) => [`${p.port} `, small([p.link_layer], 40)] },
                { head: "Link", cell: (p) => [pill(p.state ?? (p.fabric_active ? "active" : "not active"), p.fabric_active ? "ok" : isDown(p) ? "bad" : "odd"),
                        p.fabric_rate_bytes_per_second > 0 && el("small", { class: "below" }, figure(p.fabric_rate_bytes_per_second * 8e-9, "Gbit/s"))] },
                { head: "Received", of: "fabric_received_bytes", class: "share", cell: (p) => traffic(p, "fabric_received_bytes") },
                { head: "Sent", of: "fabric_sent_bytes", class: "share", cell: (p) => traffic(p, "fabric_sent_bytes") },
                { head: "Errors", of: PORT_ERRORS.map(([key]) => key), cell: (p) => errorCell(p, PORT_ERRORS) },
        ], ports), ports, { caption: "Ports of the fabric", attributes: (p) => ({ class: isDown(p) ? "bad" : null }) }), dataOf("fabric ports", ports));
}

function mountCard(mounts, rise) {
        const mean = (m, wait, n) => seconds(rise(m, wait) / rise(m, n));

        return card("Network file systems", { class: "whole" }, table(present([
                { head: "Mounted at", row: true, class: "name", cell: (m) => [brief(m.mountpoint, 40), small([m.fstype, m.source], 60), m.error && small([m.error], 120)] },
                { head: "Read", of: "netfs_read_bytes", class: "number", cell: (m) => rate(rise(m, "netfs_read_bytes")) },
                { head: "Written", of: "netfs_written_bytes", class: "number", cell: (m) => rate(rise(m, "netfs_written_bytes")) },
                { head: "A read", of: "netfs_read_wait_seconds", class: "number", title: "mean time", cell: (m) => mean(m, "netfs_read_wait_seconds", "netfs_reads") },
                { head: "A write", of: "netfs_write_wait_seconds", class: "number", title: "mean time", cell: (m) => mean(m, "netfs_write_wait_seconds", "netfs_writes") },
                { head: "Other operations", of: "netfs_metadata_operations", class: "number", title: "open, look up, attributes, directories",
                        cell: (m) => figure(Number(rise(m, "netfs_metadata_operations").toPrecision(3)), "/s") },
                { head: "Sent again", of: "netfs_retransmissions", class: "number", title: "requests, since counting began", cell: (m) => figure(m.netfs_retransmissions) },
        ], mounts), mounts, { caption: "Network file systems" }), dataOf("network file systems", mounts));
}

function meterCard(meters, rise) {
        return card("Energy", null, table([
                { head: "Meter", row: true, cell: (m) => [`${m.meter} `, small([m.part], 40)] },
                { head: "Power", class: "number", cell: (m) => watts(rise(m, "energy_joules")) },
        ], meters, { caption: "Meters of energy" }), dataOf("energy", meters));
}

const CARDS = [["gpus", "gpu", gpuCard], ["fabric_ports", "port", portCard], ["energy_meters", "meter", meterCard], ["network_filesystems", "mountpoint", mountCard]];

/* Tables of the equipment. before: an earlier answer about the node. */
export const equipmentCards = (node, before) => CARDS.filter(([list]) => node.latest[list]?.length).map(([list, label, make]) => make(node.latest[list], rises(node, before, list, label)));

/* For the health of the node: null without equipment that can fail. */
export function equipmentHealth({ gpus = [], fabric_ports: ports = [] }) {
        const counted = [...gpus.map((g) => [`GPU ${g.gpu}`, errorsOf(g, GPU_ERRORS)]), ...ports.map((p) => [`port ${p.port}`, errorsOf(p, PORT_ERRORS)])]
                .filter(([, texts]) => texts.length > 0);
        const now = failures({ gpus, fabric_ports: ports });

        return gpus.length + ports.length > 0 && card("GPUs and fabric", null,
                el("p", null, now.length ? now.map((text) => [pill(text, "bad"), " "]) : pill("all work", "ok")),
                counted.length === 0 ? note("No errors were counted.")
                        : table([{ head: "Errors of", row: true, cell: ([name]) => name }, { head: "", cell: ([, texts]) => texts.join(", ") }], counted, { caption: "Errors of GPUs and fabric" }));
}

/* --- of a job --- */

const or = (v, text) => (v === null ? "–" : text(v));

function stateOfGpu(gpu) {
        return [
                gpu.gpu === null && pill("not found on the node", "bad"), gpu.given !== null && gpu.used === false && pill("not used", "odd"),
                gpu.given === null && pill("used, not given", "odd"), gpu.shared && pill("shared with others", "odd"),
        ].filter(Boolean).flatMap((p) => [" ", p]);
}

export function jobGpuCard(gpus) {
        return gpus.length > 0 && card(`${plural(gpus.length, "GPU")} of the job`, null, table(present([
                { head: "GPU", row: true, cell: (g) => [`${g.gpu ?? brief(g.given, 24).textContent} `, small([g.model], 40), stateOfGpu(g)] },
                { head: "SM active", of: "sm_active", class: "share", title: "part of the multiprocessors that worked, mean", cell: (g) => share(g.sm_active ?? NaN, "SM active") },
                { head: "Over 20, 40, 80 %", of: "sm_over20", class: "number", title: "shares of the time with SM active of at least 20, 40 and 80 %",
                        cell: (g) => or(g.sm_over20, () => [g.sm_over20, g.sm_over40, g.sm_over80].map((v) => percent(v, 0)).join(", ")) },
                { head: "Utilization", of: "utilization", class: "share", title: "share of time in which any kernel ran", cell: (g) => share(g.utilization ?? NaN, "utilization") },
                { head: "Tensor cores", of: "tensor_active", class: "share", title: "part of the tensor cores that worked, mean", cell: (g) => share(g.tensor_active ?? NaN, "tensor cores") },
                { head: "Memory, peak", of: ["memory_peak_bytes", "process_memory_peak_bytes"], class: "share", cell: (g) => or(g.memory_peak_bytes ?? g.process_memory_peak_bytes,
                        (v) => share(v / (g.memory_total_bytes ?? NaN), "memory", `${bytes(v)} of ${bytes(g.memory_total_bytes)}`)) },
                { head: "Energy", of: "energy_joules", class: "number", cell: (g) => or(g.energy_now_joules ?? g.energy_joules, joules) },
                { head: "Power, mean", of: "power_watts", class: "number", cell: (g) => or(g.power_watts, (v) => (g.power_limit_watts === null ? watts(v) : `${watts(v)} of ${watts(g.power_limit_watts)}`)) },
                { head: "Throttled by", of: ["power_throttled", "heat_throttled"], title: "share of the time",
                        cell: (g) => [["power", g.power_throttled], ["heat", g.heat_throttled]].filter(([, v]) => v !== null).map(([kind, v]) => `${kind} ${percent(v)}`).join(", ") },
                { head: "Errors", of: JOB_ERRORS.map(([key]) => key), cell: (g) => errorCell(g, JOB_ERRORS) },
        ], gpus), gpus, { caption: "GPUs of the job" }),
        gpus.some((g) => g.shared) && note("While others used a GPU as well, only time and memory of the job's own processes count."), dataOf("GPUs of the job", gpus));
}

/* GPUs used and given, from the metrics of a job. */
export function jobGpuMeter(get) {
        const given = get("job_gpu_seconds") / get("duration_seconds"), used = get("job_gpu_used_seconds") / get("duration_seconds"), active = get("job_gpu_sm_active");

        return meter("GPUs", used / given, `${cpus(used)} of ${count(given)}${active === undefined ? "" : `, SM active ${percent(active)}`}`);
}

/* What a job with GPUs used of them: text and share; null without GPUs. */
export function jobGpuUse(metrics) {
        const given = metrics?.job_gpu_seconds / metrics?.duration_seconds, used = metrics?.job_gpu_used_seconds / metrics?.job_gpu_seconds;

        return given > 0 ? [`${cpus(used * given)} of ${count(given)}`, bar(used, { label: "GPUs used" })] : null;
}

/* Numbers of the GPUs of a job: [name, value, unit] */
export function jobGpuNumbers(gpus) {
        const kinds = [["utilization", "ratio"], ["sm_active", "ratio"], ["tensor_active", "ratio"], ["dram_active", "ratio"], ["memory_peak_bytes", "bytes"],
                ["energy_joules", "J"], ["power_watts", "watts"]];

        return gpus.flatMap((gpu) => kinds.filter(([key]) => gpu.gpu !== null && Number.isFinite(gpu[key])).map(([key, unit]) => [`gpu ${gpu.gpu} ${key}`, gpu[key], unit]));
}

/* "2 NVIDIA H200" */
export function jobGpuModels(gpus) {
        const models = gpus.map((gpu) => gpu.model ?? "of an unknown model");

        return [...new Set(models)].map((model) => `${models.filter((m) => m === model).length} ${model}`).join(", ");
}
