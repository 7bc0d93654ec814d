export { Bars, Curves, type Line } from "./chart.tsx";
export { countValues, Distribution } from "./distribution.tsx";
export type { CellOutcome } from "./grid-layout.ts";
export { type Cell, HostGrid } from "./host-grid.tsx";
export { Lanes } from "./lanes.tsx";
export { extent, type Span } from "./series.ts";
