/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts as perfctl prints them (lib/text/text.c). Pure: no document is needed. */

const DASH = "–";

const isNumber = (v) => typeof v === "number" && Number.isFinite(v);
const two = (v) => String(v).padStart(2, "0");
const join = (number, unit) => `${number}\u00a0${unit}`;

/* Texts of jobs may contain characters that move the cursor or reorder what follows: they are shown as escapes. */
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function plain(text) {
        return String(text ?? "").replace(UNSAFE, (c) => {
                const code = c.charCodeAt(0);

                return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
        });
}

export function cut(text, n = 80) {
        const whole = Array.from(plain(text));

        return whole.length > n ? `${whole.slice(0, n - 1).join("")}…` : whole.join("");
}

export function bytes(v) {
        const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        let unit = 0;

        if (!isNumber(v))
                return DASH;
        if (v === 0)
                return join(0, "B");
        for (v /= 1024; Math.abs(v) >= 1024 && unit + 1 < units.length; unit++)
                v /= 1024;
        return join(v.toFixed(Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2), units[unit]);
}

export const rate = (v) => (isNumber(v) ? `${bytes(v)}/s` : DASH);

export function seconds(v) {
        const s = Math.floor(v);

        if (!isNumber(v) || v < 0)
                return DASH;
        if (v < 1)
                return join(Math.round(v * 1000), "ms");
        if (s < 60)
                return join(v - s < 0.001 ? s : (Math.floor(v * 1000) / 1000).toFixed(s < 10 ? 2 : 1), "s");
        if (s < 3600)
                return `${join(Math.floor(s / 60), "min")}\u00a0${join(two(s % 60), "s")}`;
        if (s < 86400)
                return `${join(Math.floor(s / 3600), "h")}\u00a0${join(two(Math.floor(s / 60) % 60), "min")}`;
        return `${join(Math.floor(s / 86400), "d")}\u00a0${join(two(Math.floor(s / 3600) % 24), "h")}`;
}

const UNITS = [[3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

/* Three digits, in the largest unit of which it is one: "1.67 min", "99.5 ms". */
export function duration(v) {
        const [size, unit] = UNITS.find(([s]) => v >= 0.9995 * s) ?? UNITS[v > 0 ? 5 : 2];

        return isNumber(v) && v >= 0 ? join(v < 999.5 * size ? Number((v / size).toPrecision(3)) : Math.round(v / size), unit) : DASH;
}

export const percent = (ratio, digits = 1) => (isNumber(ratio) ? join((100 * ratio).toFixed(digits), "%") : DASH);

export function change(ratio) {
        return isNumber(ratio) ? join(`${ratio > 0 ? "+" : ratio < 0 ? "−" : ""}${Math.abs(100 * ratio).toFixed(1)}`, "%") : DASH;
}

export const count = (v) => (isNumber(v) ? (Math.abs(v - Math.round(v)) < 0.05 ? v.toFixed(0) : v.toFixed(1)) : DASH);

export const cpus = (v) => (isNumber(v) ? v.toFixed(v >= 100 || Number.isInteger(v) ? 0 : v < 10 ? 2 : 1) : DASH);

export const watts = (v) => (isNumber(v) ? join(v.toFixed(v < 9.95 ? 1 : 0), "W") : DASH);
export const joules = (v) => (isNumber(v) ? (v < 99950 ? join(v.toFixed(0), "J") : join((v / 1e6).toFixed(3), "MJ")) : DASH);

/* Six digits, with commas in the whole part: "1,234.56". */
export function figure(v, unit) {
        let text;

        if (!isNumber(v))
                return DASH;
        if (v !== 0 && (Math.abs(v) < 1e-4 || Math.abs(v) >= 1e15))
                text = v.toExponential(5).replace(/\.?0*e([+-])(\d+)$/, (all, sign, digits) => `e${sign}${two(digits)}`);
        else if (Math.abs(v) >= 1e5 || Number.isInteger(v))
                text = v.toFixed(0);
        else
                text = String(Number(v.toPrecision(6)));
        text = text.replace(/^(-?)(\d{5,})/, (all, sign, digits) => sign + digits.replace(/\B(?=(\d{3})+$)/g, ","));
        return unit ? join(text, plain(unit)) : text;
}

/* A value with the unit that the API names. */
export function quantity(v, unit) {
        switch (unit) {
        case "%": return percent(v / 100);
        case "ratio": return percent(v);
        case "s": return seconds(v);
        case "h": return seconds(v * 3600);
        case "MiB": return bytes(v * 1048576);
        case "bytes": case "B": return bytes(v);
        case "bytes_per_second": return rate(v);
        case "cpus": case "gpus": return cpus(v);
        case "watts": return watts(v);
        case "J": return joules(v);
        case "1": case "": case null: case undefined: return figure(v);
        default: return figure(v, unit);
        }
}

const HOUR_MS = 3600e3;

/* Local time; today's without the date. */
export function time(ms, now = Date.now()) {
        const t = new Date(ms);
        const day = `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
        const clock = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;

        if (!isNumber(ms) || ms <= 0)
                return DASH;
        return Math.abs(now - ms) < 12 * HOUR_MS ? clock : `${day} ${clock}`;
}

/* A place on a time axis: its date, or its time with the seconds and tenths that are not zero. */
export function clock(s, isLong) {
        const t = new Date(Math.round(1000 * s)), at = `${two(t.getHours())}:${two(t.getMinutes())}`, tenths = Math.floor(t.getMilliseconds() / 100);

        if (isLong)
                return `${two(t.getMonth() + 1)}-${two(t.getDate())}`;
        return t.getSeconds() || tenths ? `${at}:${two(t.getSeconds())}${tenths ? `.${tenths}` : ""}` : at;
}

export const utc = (ms) => (isNumber(ms) && ms > 0 ? `${new Date(ms).toISOString().replace("T", " ").slice(0, 19)} UTC` : "");

/* State of a job in words, and how it is coloured: ok, bad, live or odd. */
export function jobState(job) {
        const exit = job.exit;

        if (job.state === "running")
                return { text: "running", tone: "live" };
        if (exit?.signal)
                return { text: `killed (signal ${exit.signal})`, tone: "bad" };
        if (exit?.status)
                return { text: `failed (exit ${exit.status})`, tone: "bad" };
        if (job.state === "interrupted")
                return { text: "interrupted", tone: "odd" };
        return exit ? { text: "finished", tone: "ok" } : { text: "finished (exit unknown)", tone: "odd" };
}

const SIGNALS = { 1: "hangup", 2: "interrupted", 3: "quit", 4: "illegal instruction", 5: "trap", 6: "aborted", 7: "bus error", 8: "arithmetic error", 9: "SIGKILL, by a user, the scheduler or the kernel", 11: "segmentation fault",
        13: "broken pipe", 14: "alarm", 15: "terminated", 24: "CPU time limit", 25: "file size limit", 31: "bad system call" };
const STATUSES = { 124: "timed out, if timeout(1) ran it", 126: "the command cannot be executed", 127: "the command was not found" };

/* Why a job failed, as far as its end tells; "" if it did not. */
export function failure(job) {
        const { status = 0, signal = 0 } = job.exit ?? {}, n_killed = job.metrics?.job_oom_kills ?? 0;

        if (job.state === "interrupted")
                return "its end is not known: perfd or the machine was down";
        if (!status && !signal)
                return "";
        if (n_killed > 0)
                return `memory ran out: ${plural(n_killed, "process", "processes")} killed`;
        if (signal)
                return SIGNALS[signal] ?? `signal ${signal}`;
        return STATUSES[status] ?? (status > 128 && SIGNALS[status - 128] ? `${SIGNALS[status - 128]}, as a shell reports it` : "the command's own exit status");
}

/* "1 job", "2 jobs" */
export const plural = (n, noun, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;
