import { useSignal } from "@preact/signals";
import { type App, type ListedPeel, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { ReasonField } from "../../kit/reason-field.tsx";
import { DecisionOutlook, decide, decideAll, reportOf } from "../../outlook/mod.ts";
import { NamedPeels } from "./named-peels.tsx";

/** Takes peels out of the fleet. @param props.close gets those that were revoked, or wait for other operators */
export function RevokePeels(props: {
  app: App;
  peels: readonly ListedPeel[];
  close(decided: readonly ListedPeel[]): void;
}) {
  const { app, peels, close } = props;
  const reason = useSignal("");
  const done = useSignal<readonly ListedPeel[]>([]);
  // What was done before the dialog said that something failed is not done again.
  const meant = peels.filter((one) => !done.value.includes(one));
  const revoke = async ({ enrollment_id: id }: ListedPeel) => {
    const why = reason.value.trim();
    await app.client.call(routes.revokeEnrollment, { id, ...(why === "" ? {} : { reason: why }) });
  };
  const [first] = meant;
  const isOne = meant.length === 1;
  return (
    <Confirm
      title={isOne ? `Revoke ${first?.id}?` : `Revoke ${meant.length} hosts?`}
      verb="Revoke"
      count={meant.length}
      blocked={meant.length === 0}
      danger
      close={() => close(done.value)}
      act={async () => {
        if (isOne && first !== undefined) {
          const words = { done: `${first.id} is revoked`, waiting: `Revoking ${first.id}` };
          await decide(app, words, () => revoke(first));
          done.value = [...done.value, first];
          return;
        }
        const decided = await decideAll(meant, revoke);
        done.value = [...done.value, ...decided.done, ...decided.waiting];
        app.say(reportOf(decided, "revoked", ({ id }) => id));
      }}
    >
      <p>
        {isOne
          ? "1 host leaves the fleet: its connection to the bus is cut, and it gets no more jobs. To come back it must enroll again, and be approved."
          : `${meant.length} hosts leave the fleet: their connections to the bus are cut, and they get no more jobs. To come back they must enroll again, and be approved.`}
      </p>
      <DecisionOutlook app={app} question={{ kind: "enrollments", action: "revoke" }} count={meant.length} />
      {!isOne && <NamedPeels peels={meant} />}
      <ReasonField id="revoke-reason" label="Reason, kept with the enrollment" reason={reason} />
    </Confirm>
  );
}
