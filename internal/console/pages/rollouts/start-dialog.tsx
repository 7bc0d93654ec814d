import type { App } from "../../api/mod.ts";
import { ArgumentList } from "../../calls/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { filesOf, OutlookNotes, useOutlook } from "../../outlook/mod.ts";
import type { RolloutForm } from "./use-rollout-form.ts";

/** Says what a rollout will do to how many hosts, before it starts. */
export function StartDialog(props: { app: App; form: RolloutForm; act(): Promise<void>; close(): void }) {
  const { app, form, act, close } = props;
  const { call, check, hasCheck, target, total, planned, wait } = form;
  const plan = planned?.plan;
  const waves = plan !== undefined && "waves" in plan ? plan.waves : [];
  const max = plan !== undefined && "waves" in plan ? plan.maxFailures : 0;
  const name = call.name.value.trim();
  const hosts = (count: number) => (count === 1 ? "1 host" : `${count.toLocaleString("en")} hosts`);
  const soak = wait.value.trim();
  const checkName = check.name.value.trim();
  const outlook = useOutlook(app, {
    ...{ kind: "rollouts", action: "start", function: name, target: target.wanted },
    ...(hasCheck ? filesOf(check.args) : {}),
    ...filesOf(call.args),
    ...(hasCheck ? { check: { function: checkName } } : {}),
  });
  return (
    <Confirm
      title={`Start a rollout of ${name} on ${hosts(total)}?`}
      verb="Start"
      count={total}
      danger
      act={act}
      close={close}
    >
      <p>
        {outlook.words} on {hosts(waves[0] ?? 0)} of those that <code>{target.wanted}</code> means now
        {waves.length > 1 && `, and then by itself on the others, in ${planned?.words}`}.
      </p>
      <p>
        {max === 0
          ? "If one host fails, no further wave starts."
          : `If more than ${hosts(max)} fail, no further wave starts.`}
        {soak !== "0" && soak !== "" && ` It waits ${soak} after each wave.`}
        {hasCheck && ` ${checkName} must then succeed on each host of the wave.`} You can pause and abort it
        at any time.
      </p>
      <OutlookNotes outlook={outlook} />
      <ArgumentList args={call.args} />
    </Confirm>
  );
}
