/* SPDX-License-Identifier: Apache-2.0 */
/* The same five figures by each library: window.result has the time to draw each, in ms. */

const library = document.documentElement.dataset.library;
const { figures } = await import(`./${library}.js`);

/* Numbers that look like measurements, the same in each run. */
let seed = 1;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const DAY = Array.from({ length: 8640 }, (_, i) => ({ time: 1.7e12 + 1e4 * i, value: 0.5 + 0.3 * Math.sin(i / 700) + 0.05 * normal() }));
const CORES = Array.from({ length: 256 }, () => Array.from({ length: 600 }, () => Math.floor(101 * random())));
const RUNS = Array.from({ length: 2000 }, (_, i) => ({ version: `1.${i % 10}`, machine: `m${i % 6}`, rate: 100 + (i % 10) + 5 * normal() }));
const DATA = { day: DAY, heat: CORES, boxes: RUNS, distribution: RUNS, facets: RUNS };

const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
const result = {};

for (const [name, data] of Object.entries(DATA)) {
        const box = document.createElement("div");

        box.className = "box";
        document.body.append(box);
        await painted();
        const begin = performance.now();
        figures[name](box, data);
        await painted();
        result[name] = performance.now() - begin;
}
window.result = result;
