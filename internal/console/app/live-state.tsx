import type { App } from "../api/mod.ts";
import { Status } from "../kit/status.tsx";
import { clockTime } from "../kit/times.ts";

/** Whether what is shown follows the fleet. */
export function LiveState({ app: { live, session } }: { app: App }) {
  const since = live.brokenSince.value;
  if (since !== undefined) return <Status word={`Not live since ${clockTime(since)}`} outcome="timeout" />;
  if (!session.may("events", "read")) return <Status word="Read every 15 s" outcome="skipped" />;
  if (!live.isLive.value) return <Status word="Not live" outcome="skipped" />;
  return <Status word="Live" outcome="ok" />;
}
