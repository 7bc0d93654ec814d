import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import { Since } from "../../kit/time.tsx";

/** Which master reacts, for how long, and how many events wait. */
export function ReactorStatus({ app }: { app: App }) {
  const { value, problem } = useAnswer(app, routes.showReactor, {});
  // The view below shows the same problem in full.
  if (problem !== undefined || value === undefined) return null;
  const stopped = value.sources.filter(({ running }) => !running);
  const waiting = value.sources.reduce((sum, source) => sum + source.waiting + source.in_hand, 0);
  return (
    <span class="muted number">
      <Status
        word={stopped.length === 0 ? "running" : `not reading ${stopped.map(({ name }) => name).join(", ")}`}
        outcome={stopped.length === 0 ? "ok" : "failed"}
      />{" "}
      on {value.master} for <Since at={value.since} now={app.now} />, {waiting.toLocaleString("en")} events
      waiting
    </span>
  );
}
