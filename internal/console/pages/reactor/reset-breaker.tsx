import { type App, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";

/** Closes the breaker of a rule, which then fires again. */
export function ResetBreaker({ app, rule, close }: { app: App; rule: string; close(): void }) {
  return (
    <Confirm
      title={`Close the breaker of ${rule}?`}
      verb="Close it"
      count={0}
      close={close}
      act={() =>
        decide(
          app,
          { done: `The breaker of ${rule} is closed`, waiting: `Closing the breaker of ${rule}` },
          () => app.client.call(routes.resetBreakers, { rule }),
        )
      }
    >
      <p>
        The rule fired too often, so it was stopped. When its breaker closes, it fires for the next event that
        matches, on each host that the event names.
      </p>
      <DecisionOutlook app={app} question={{ kind: "reactor", action: "reset" }} />
    </Confirm>
  );
}
