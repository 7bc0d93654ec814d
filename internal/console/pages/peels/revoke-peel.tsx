import { useSignal } from "@preact/signals";
import { routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { ReasonField } from "../../kit/reason-field.tsx";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import type { ViewProps } from "./shown.ts";

/** Takes a peel out of the fleet. */
export function RevokePeel({ app, peel, close }: ViewProps & { close(): void }) {
  const reason = useSignal("");
  return (
    <Confirm
      title={`Revoke ${peel.id}?`}
      verb="Revoke"
      count={1}
      danger
      close={close}
      act={async () => {
        const input = { id: peel.enrollment_id, ...(reason.value === "" ? {} : { reason: reason.value }) };
        const words = { done: `${peel.id} is revoked`, waiting: `Revoking ${peel.id}` };
        await decide(app, words, () => app.client.call(routes.revokeEnrollment, input));
      }}
    >
      <p>
        1 host leaves the fleet: its connection to the bus is cut, and it gets no more jobs. To come back it
        must enroll again, and be approved.
      </p>
      <DecisionOutlook app={app} question={{ kind: "enrollments", action: "revoke" }} />
      <ReasonField id="revoke-reason" label="Reason, kept with the enrollment" reason={reason} />
    </Confirm>
  );
}
