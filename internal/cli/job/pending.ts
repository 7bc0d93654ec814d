import type { JobView } from "../../fleet/jobs/mod.ts";
import { peelCount } from "./counts.ts";

const two = (part: number) => String(part).padStart(2, "0");

/** `12:40` in the zone of this host, with the date when it is not today. @param now milliseconds since the Unix epoch */
export function localTime(time: string, now: number): string {
  const [at, today] = [new Date(time), new Date(now)];
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === today.toDateString()) return clock;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}

/** `pending (not connected since 12:40)`; `undefined` for a peel that is connected, or has ended. */
export function pendingWord(
  peel: string,
  { not_connected: away }: Pick<JobView, "not_connected">,
  now: number,
): string | undefined {
  const known = away?.[peel];
  if (known === undefined) return undefined;
  return `pending (not connected${known.since === undefined ? "" : ` since ${localTime(known.since, now)}`})`;
}

/** `3 peels get the job if they come back before 14:03`; `undefined` when no peel is away. */
export function pendingWords(
  { not_connected: away = {}, deadline }: Pick<JobView, "not_connected" | "deadline">,
  now: number,
): string | undefined {
  const count = Object.keys(away).length;
  if (count === 0) return undefined;
  const [get, come] = count === 1 ? ["gets", "it comes"] : ["get", "they come"];
  return `${peelCount(count)} ${get} the job if ${come} back before ${localTime(deadline, now)}`;
}

/** The same with how to wait for them. */
export function pendingLine(
  view: Pick<JobView, "not_connected" | "deadline" | "jid">,
  now: number,
): string | undefined {
  const words = pendingWords(view, now);
  return words && `${words}: svc job watch ${view.jid}`;
}
