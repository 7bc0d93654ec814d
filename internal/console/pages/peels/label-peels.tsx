import { useSignal } from "@preact/signals";
import { type App, type ListedPeel, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { Field } from "../../kit/field.tsx";
import { DecisionOutlook, decideAll, reportOf } from "../../outlook/mod.ts";
import { changed, readChange } from "./label-change.ts";
import { NamedPeels } from "./named-peels.tsx";

/** Sets and removes labels of peels. @param props.close gets those that have them now, or wait for other operators */
export function LabelPeels(props: {
  app: App;
  peels: readonly ListedPeel[];
  close(decided: readonly ListedPeel[]): void;
}) {
  const { app, peels, close } = props;
  const text = useSignal("");
  const done = useSignal<readonly ListedPeel[]>([]);
  const meant = peels.filter((one) => !done.value.includes(one));
  return (
    <Confirm
      title={meant.length === 1 ? `Label ${meant[0]?.id}?` : `Label ${meant.length} hosts?`}
      verb="Label"
      count={meant.length}
      blocked={meant.length === 0}
      close={() => close(done.value)}
      act={async () => {
        const change = readChange(text.value);
        if (typeof change === "string") throw new Error(change);
        const decided = await decideAll(meant, async ({ enrollment_id: id, labels: expected }) => {
          await app.client.call(routes.labelEnrollment, { id, labels: changed(expected, change), expected });
        });
        done.value = [...done.value, ...decided.done, ...decided.waiting];
        app.say(reportOf(decided, "labelled", ({ id }) => id));
      }}
    >
      <p>The other labels stay. Targets select by labels: T@env:prod.</p>
      <Field
        id="label-change"
        label="What changes: env=prod sets a label, env- removes it"
        class="input mono"
        value={text.value}
        onText={(typed) => {
          text.value = typed;
        }}
      />
      <DecisionOutlook app={app} question={{ kind: "enrollments", action: "label" }} count={meant.length} />
      <NamedPeels peels={meant} />
    </Confirm>
  );
}
