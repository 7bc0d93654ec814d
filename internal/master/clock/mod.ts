export { type ClockWatch, watchClock } from "./watch.ts";
