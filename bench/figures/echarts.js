/* SPDX-License-Identifier: Apache-2.0 */
/* ECharts, which draws on canvas. */

const { echarts } = globalThis;
const versions = (rows) => [...new Set(rows.map((r) => r.version))];
const points = (rows) => rows.map((r) => [r.version, r.rate]);

function draw(box, option) {
        echarts.init(box, null, { width: 900, height: 260 }).setOption({ animation: false, ...option });
}

/* Quartiles and ends of each version. */
function quartiles(rows) {
        return versions(rows).map((version) => {
                const sorted = rows.filter((r) => r.version === version).map((r) => r.rate).sort((a, b) => a - b);

                return [0, 0.25, 0.5, 0.75, 1].map((q) => sorted[Math.round(q * (sorted.length - 1))]);
        });
}

const axes = (rows) => ({ xAxis: { type: "category", data: versions(rows) }, yAxis: { type: "value", scale: true } });

export const figures = {
        day: (box, data) => draw(box, { xAxis: { type: "time" }, yAxis: {}, dataZoom: [{ type: "inside" }], tooltip: { trigger: "axis" },
                series: [{ type: "line", showSymbol: false, data: data.map((d) => [d.time, d.value]) }] }),
        heat: (box, data) => draw(box, { xAxis: { type: "category" }, yAxis: { type: "category" }, visualMap: { min: 0, max: 100, show: false },
                series: [{ type: "heatmap", data: data.flatMap((row, core) => row.map((v, i) => [i, core, v])) }] }),
        boxes: (box, rows) => draw(box, { ...axes(rows), series: [{ type: "boxplot", data: quartiles(rows) }] }),
        distribution: (box, rows) => draw(box, { ...axes(rows),
                series: [{ type: "boxplot", data: quartiles(rows) }, { type: "scatter", symbolSize: 3, data: points(rows) }] }),
        facets(box, rows) {
                const machines = [...new Set(rows.map((r) => r.machine))], each = { xAxis: [], yAxis: [], grid: [], series: [] };

                machines.forEach((machine, i) => {
                        each.grid.push({ left: `${5 + (93 / machines.length) * i}%`, width: `${80 / machines.length}%` });
                        each.xAxis.push({ gridIndex: i, type: "category", data: versions(rows) });
                        each.yAxis.push({ gridIndex: i, scale: true });
                        each.series.push({ type: "scatter", xAxisIndex: i, yAxisIndex: i, symbolSize: 4, data: points(rows.filter((r) => r.machine === machine)) });
                });
                draw(box, each);
        },
};
