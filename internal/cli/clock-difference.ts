import { sayDuration } from "../base/duration.ts";

/** `10m ahead`, `2h behind` */
export function differenceWords(ms: number): string {
  return `${sayDuration(Math.round(Math.abs(ms) / 1000) * 1000)} ${ms > 0 ? "ahead" : "behind"}`;
}
