import { type App, routes, WaitsForApproval } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";

/** Closes the breaker of a rule, which then fires again. */
export function ResetBreaker({ app, rule, close }: { app: App; rule: string; close(): void }) {
  return (
    <Confirm
      title={`Close the breaker of ${rule}?`}
      verb="Close it"
      count={0}
      close={close}
      act={async () => {
        try {
          await app.client.call(routes.resetBreakers, { rule });
          app.say(`The breaker of ${rule} is closed`);
        } catch (thrown) {
          if (!(thrown instanceof WaitsForApproval)) throw thrown;
          app.say(`Closing the breaker of ${rule} ${thrown.message}`);
        }
      }}
    >
      <p>
        The rule fired too often, so it was stopped. When its breaker closes, it fires for the next event that
        matches, on each host that the event names.
      </p>
    </Confirm>
  );
}
