import type { ReadonlySignal } from "@preact/signals";
import { brief, local, relative, took } from "./times.ts";

/**
 * A time, relative to now; its title has it in the zone of the reader and in UTC.
 *
 * @param now ticks: the text stays true
 */
export function Time({ at, now }: { at: string | number; now: ReadonlySignal<number> }) {
  const ms = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(ms)) return <span>{at}</span>;
  const utc = new Date(ms).toISOString();
  return (
    <time dateTime={utc} title={`${local(ms)} here, ${utc} UTC`}>
      {relative(ms, now.value)}
    </time>
  );
}

/** How long something took, in milliseconds. */
export function Duration({ ms }: { ms: number }) {
  return (
    <span class="number" title={`${ms} ms`}>
      {took(ms)}
    </span>
  );
}

/** How long something has been so. */
export function Since({ at, now }: { at: string; now: ReadonlySignal<number> }) {
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={`since ${local(ms)} here, ${at} UTC`}>
      {brief(Math.max(0, now.value - ms))}
    </time>
  );
}
