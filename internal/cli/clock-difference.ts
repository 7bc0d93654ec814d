import { formatDuration } from "../base/duration.ts";

/** `10m ahead`, `2h behind` */
export function differenceWords(ms: number): string {
  return `${formatDuration(Math.round(Math.abs(ms) / 1000) * 1000)} ${ms > 0 ? "ahead" : "behind"}`;
}
