/* SPDX-License-Identifier: Apache-2.0 */
/* Observable Plot, which draws SVG; it has no zoom. */

const { Plot } = globalThis;

export const figures = {
        day: (box, data) => box.append(Plot.plot({ width: 900, height: 200, x: { type: "utc" },
                marks: [Plot.lineY(data, { x: "time", y: "value" }), Plot.ruleX(data, Plot.pointerX({ x: "time" }))] })),
        heat: (box, data) => box.append(Plot.plot({ width: 900, height: 300, color: { scheme: "blues" },
                marks: [Plot.raster(data.flat(), { width: 600, height: 256 })] })),
        boxes: (box, rows) => box.append(Plot.plot({ width: 900, height: 240, marks: [Plot.boxY(rows, { x: "version", y: "rate" })] })),
        distribution: (box, rows) => box.append(Plot.plot({ width: 900, height: 240,
                marks: [Plot.boxY(rows, { x: "version", y: "rate" }), Plot.dot(rows, { x: "version", y: "rate", r: 1.5 })] })),
        facets: (box, rows) => box.append(Plot.plot({ width: 900, height: 240, marks: [Plot.dot(rows, { fx: "machine", x: "version", y: "rate" })] })),
};
