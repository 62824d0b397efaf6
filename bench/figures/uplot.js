/* SPDX-License-Identifier: Apache-2.0 */
/* uPlot with the figures of the web page. */

import { chart } from "/web/figures/chart.js";
import { cores } from "/web/figures/cores.js";
import { timeseries } from "/web/figures/timeseries.js";

const y = { key: "rate", label: "rate" }, version = { key: "version", label: "version" }, machine = { key: "machine", label: "machine" };

export const figures = {
        day(box, data) {
                const mean = data.map((d) => d.value), from = data[0].time, to = data.at(-1).time;
                const plot = timeseries({ label: "CPU", unit: "ratio", series: [{ name: "busy", color: "c1" }], from, to, onselect: () => null });

                box.append(plot.element);
                plot.set([data.map((d) => d.time / 1000), mean, mean, mean], from, to);
        },
        heat(box, data) {
                const strip = cores(), times_ms = data[0].map((_, i) => 1.7e12 + 1000 * i);

                box.append(strip.element);
                strip.set({ times_ms, cores: data }, times_ms[0], times_ms.at(-1));
        },
        boxes: (box, rows) => box.append(chart({ kind: "box", title: "rate", x: version, y, rows })),
        distribution: (box, rows) => box.append(chart({ kind: "distribution", title: "rate", x: version, y, rows })),
        facets: (box, rows) => box.append(chart({ kind: "scatter", title: "rate", x: version, y, facets: machine, rows })),
};
