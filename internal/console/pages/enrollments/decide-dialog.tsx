import { useSignal } from "@preact/signals";
import { type App, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { ReasonField } from "../../kit/reason-field.tsx";
import { DecisionOutlook } from "../../outlook/mod.ts";
import { decideAll } from "./decide-all.ts";
import type { Action, Listed } from "./listed.ts";

const texts = {
  approve: {
    verb: "Approve",
    done: "approved",
    means: "joins the fleet: it gets credentials, connects to the bus, and runs what operators ask it to.",
    mean: "join the fleet: they get credentials, connect to the bus, and run what operators ask them to.",
  },
  reject: {
    verb: "Reject",
    done: "rejected",
    means: "is refused. To join, it must ask again.",
    mean: "are refused. To join, they must ask again.",
  },
  revoke: {
    verb: "Revoke",
    done: "revoked",
    means:
      "leaves the fleet: its connection to the bus is cut. To come back it must enroll again, and be approved.",
    mean: "leave the fleet: their connections to the bus are cut. To come back they must enroll again, and be approved.",
  },
} as const;

const mostNamed = 8;

/** Says what will happen to which hosts, and decides about them. */
export function DecideDialog(props: {
  app: App;
  action: Action;
  chosen: readonly Listed[];
  close(decided: readonly Listed[]): void;
}) {
  const { app, action, chosen, close } = props;
  const reason = useSignal("");
  const force = useSignal(false);
  const done = useSignal<readonly Listed[]>([]);
  const { verb, done: word, means, mean } = texts[action];
  const strange = action === "approve" ? chosen.filter(({ trust }) => trust === "MISMATCH!") : [];
  const meant = (strange.length > 0 && !force.value ? chosen.filter((one) => !strange.includes(one)) : chosen)
    // What was done before the dialog said that something failed is not done again.
    .filter((one) => !done.value.includes(one));
  const given = reason.value.trim() === "" ? {} : { reason: reason.value.trim() };
  const decide = async ({ id, trust }: Listed) => {
    if (action === "approve") {
      const forced = trust === "MISMATCH!" ? { force: true } : {};
      await app.client.call(routes.approveEnrollment, { id, ...forced });
    } else if (action === "reject") await app.client.call(routes.rejectEnrollment, { id, ...given });
    else await app.client.call(routes.revokeEnrollment, { id, ...given });
  };
  // With nobody but those that trusted another root, one must insist before anything happens.
  const asked = meant.length === 0 ? strange : meant;
  const [first] = asked;
  return (
    <Confirm
      title={asked.length === 1 ? `${verb} ${first?.peel}?` : `${verb} ${asked.length} hosts?`}
      verb={verb}
      count={meant.length}
      blocked={meant.length === 0}
      danger={action !== "approve"}
      close={() => close(done.value)}
      act={async () => {
        const decided = await decideAll(meant, decide);
        done.value = [...done.value, ...decided.done, ...decided.waiting];
        const said = [
          decided.done.length > 0 && `${decided.done.length} ${word}`,
          decided.waiting.length > 0 && `${decided.waiting.length} wait for other operators`,
        ].filter(Boolean);
        const [failed] = decided.failed;
        if (failed === undefined) return app.say(said.join(", "));
        const others = decided.failed.length === 1 ? "" : ` (and ${decided.failed.length - 1} more)`;
        throw new Error([...said, `${failed.one.peel}: ${failed.problem}${others}`].join("; "));
      }}
    >
      <p>
        {meant.length === 0 && "Nothing happens unless you insist. "}
        {asked.length === 1 ? "1 host" : `${asked.length} hosts`} {asked.length === 1 ? means : mean}
      </p>
      <DecisionOutlook app={app} question={{ kind: "enrollments", action }} count={asked.length} />
      <ul class="stack small">
        {asked.slice(0, mostNamed).map(({ id, peel, fingerprint }) => (
          <li key={id}>
            <strong>{peel}</strong> <span class="mono">{fingerprint}</span>
          </li>
        ))}
        {asked.length > mostNamed && <li class="muted">and {asked.length - mostNamed} more</li>}
      </ul>
      {strange.length > 0 && (
        <label class="notice failed">
          <input
            type="checkbox"
            checked={force.value}
            onChange={({ currentTarget }) => {
              force.value = currentTarget.checked;
            }}
          />
          <span>
            Approve also {strange.length === 1 ? strange[0]?.peel : `the ${strange.length} hosts`} that
            trusted another CA root. Someone may stand between them and this fleet.
          </span>
        </label>
      )}
      {action !== "approve" && (
        <ReasonField id="decide-reason" label="Reason, kept with the enrollment" reason={reason} />
      )}
    </Confirm>
  );
}
