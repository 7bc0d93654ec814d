import { useSignal } from "@preact/signals";
import { defined } from "../../../base/defined.ts";
import { type App, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { ReasonField } from "../../kit/reason-field.tsx";
import type { Approval } from "./approval.ts";
import { ChangedFiles } from "./changes.tsx";
import { requestSentence } from "./request-words.ts";

/** Asks before a request is approved, denied or withdrawn. */
export function Decide(props: {
  app: App;
  approval: Approval;
  verb: "Approve" | "Deny" | "Withdraw";
  close(): void;
}) {
  const { app, approval, verb, close } = props;
  const { id, asked_by, needs, agreed, targets = [], request_digest } = approval;
  const isApproved = verb === "Approve";
  const reason = useSignal("");
  const left = needs - agreed.length - 1;
  return (
    <Confirm
      title={`${verb}: ${requestSentence(approval)}, asked by ${asked_by}?`}
      verb={verb}
      // Denying touches no host.
      count={isApproved ? targets.length : 0}
      danger={!isApproved}
      close={close}
      act={async () => {
        if (!isApproved) {
          const why = reason.value.trim();
          await app.client.call(routes.denyRequest, why === "" ? { id } : { id, reason: why });
          app.say(verb === "Deny" ? "The request is denied" : "The request is withdrawn");
          return;
        }
        // The request that was read, and no other.
        const digest = approval.signed === undefined ? undefined : request_digest;
        const after = await app.client.call(routes.approveRequest, {
          id,
          ...defined({ request_digest: digest }),
        });
        app.say(after.state === "started" ? "Approved: it is started" : "Approved: it waits for others");
      }}
    >
      {isApproved && left <= 0 && (
        <p>
          Nobody else must agree: it starts at once, as {asked_by}
          {targets.length > 0 &&
            `, on ${targets.length.toLocaleString("en")} ${targets.length === 1 ? "host" : "hosts"}`}
          .
        </p>
      )}
      {isApproved &&
        approval.changes?.map((group) => <ChangedFiles key={JSON.stringify(group)} of={group} />)}
      {isApproved && left > 0 && <p>{left} more must agree before it starts.</p>}
      {!isApproved && <p>It never starts. The requester can send it again.</p>}
      {verb === "Deny" && (
        <ReasonField id="deny-reason" label={`Reason, which ${asked_by} reads`} reason={reason} />
      )}
    </Confirm>
  );
}
