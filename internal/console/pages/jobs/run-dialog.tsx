import type { Plain } from "../../../base/msgpack.ts";
import type { App } from "../../api/mod.ts";
import { ArgumentList } from "../../calls/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { filesOf, OutlookNotes, useOutlook } from "../../outlook/mod.ts";

/** Says what a job will do to how many hosts, before it starts. */
export function RunDialog(props: {
  app: App;
  name: string;
  args: Readonly<Record<string, Plain>>;
  target: string;
  total: number;
  act(): Promise<void>;
  close(): void;
}) {
  const { app, name, args, target, total, act, close } = props;
  const outlook = useOutlook(app, {
    kind: "jobs",
    action: "run",
    function: name,
    target,
    ...filesOf(args),
  });
  return (
    <Confirm
      title={`Run ${name} on ${total === 1 ? "1 host" : `${total} hosts`}?`}
      verb="Run"
      count={total}
      danger
      act={act}
      close={close}
    >
      <p>
        {name} can change hosts. {outlook.words} on those that <code>{target}</code> means, and on silent ones
        if they return in time.
      </p>
      <OutlookNotes outlook={outlook} />
      <ArgumentList args={args} />
    </Confirm>
  );
}
