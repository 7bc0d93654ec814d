import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { encodePeelId } from "../../../base/names/peel-id.ts";
import { type App, type Query, routes, useQuery } from "../../api/mod.ts";
import { type Reported, reportedBy, type ShownJob } from "./job-rows.ts";

/** A job of more peels is read as a whole only when it ends: its returns are large. */
const maxReread = 50;
/** For those who may not read events. */
const pollMs = 2_000;

/** A job, with what its peels return as they return it. */
export function useJob(
  app: App,
  jid: string,
): { job: Query<ShownJob>; reported: ReadonlyMap<string, Reported> } {
  const reported = useSignal<ReadonlyMap<string, Reported>>(new Map());
  const isLarge = useSignal(true);
  const load = async (signal: AbortSignal): Promise<ShownJob> => {
    const shown = await app.client.call(routes.getJob, { jid }, signal);
    isLarge.value = shown.targets.length > maxReread;
    return shown;
  };
  // What a job did is final when it has ended.
  const job = useQuery<ShownJob>(
    app,
    jid,
    { load, renew: async (before, signal) => (before.status === "running" ? load(signal) : before) },
    [`svc/job/${jid}/${isLarge.value ? "ended" : ""}`],
  );
  useEffect(
    () =>
      // Ten times a second at most, together.
      app.live.on([`svc/job/${jid}/return/`], (events) => {
        const next = new Map(reported.value);
        for (const { tag, data } of events) {
          const one = reportedBy(data);
          if (one !== undefined) next.set(encodePeelId(tag.split("/")[4] ?? ""), one);
        }
        reported.value = next;
      }),
    [jid],
  );
  const isRunning = job.value?.status === "running";
  useEffect(() => {
    if (!isRunning || app.session.may("events", "read")) return;
    const timer = app.clock.every(pollMs, job.reload);
    return () => timer.cancel();
  }, [isRunning]);
  return { job, reported: reported.value };
}
