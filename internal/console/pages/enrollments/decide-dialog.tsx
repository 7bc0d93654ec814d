import { type Signal, useSignal } from "@preact/signals";
import { defined } from "../../../base/defined.ts";
import { type App, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { ReasonField } from "../../kit/reason-field.tsx";
import { DecisionOutlook, decideAll, reportOf } from "../../outlook/mod.ts";
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

const maxNamed = 8;

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
  const drop = useSignal(false);
  const done = useSignal<readonly Listed[]>([]);
  const { verb, done: word, means, mean } = texts[action];
  const contested = action === "approve" ? chosen.filter((one) => one.contested === true) : [];
  // Someone has to compare the hosts with one peel id: the first of several that are chosen is not the right one.
  const single = chosen.length === 1 ? chosen : chosen.filter((one) => !contested.includes(one));
  const strange = action === "approve" ? single.filter(({ trust }) => trust === "MISMATCH!") : [];
  const meant = (strange.length > 0 && !force.value ? single.filter((one) => !strange.includes(one)) : single)
    // What was done before the dialog said that something failed is not done again.
    .filter((one) => !done.value.includes(one));
  // With nobody but those that trusted another root, one must insist before anything happens.
  const requested = meant.length === 0 ? strange : meant;
  const had = action === "approve" ? requested.filter(({ former_labels: labels }) => labels) : [];
  const act = async () => {
    const how = { reason: reason.value.trim(), drops: drop.value };
    const decided = await decideAll(meant, (one) => decide(app, action, one, how));
    done.value = [...done.value, ...decided.done, ...decided.waiting];
    app.say(reportOf(decided, word, ({ peel }) => peel));
  };
  return (
    <Confirm
      title={requested.length === 1 ? `${verb} ${requested[0]?.peel}?` : `${verb} ${requested.length} hosts?`}
      verb={verb}
      count={meant.length}
      blocked={meant.length === 0}
      danger={action !== "approve"}
      close={() => close(done.value)}
      act={act}
    >
      <p>
        {meant.length === 0 && "Nothing happens unless you insist. "}
        {requested.length === 1 ? "1 host" : `${requested.length} hosts`}{" "}
        {requested.length === 1 ? means : mean}
      </p>
      <DecisionOutlook app={app} question={{ kind: "enrollments", action }} count={requested.length} />
      <ul class="stack small">
        {requested.slice(0, maxNamed).map(({ id, peel, fingerprint }) => (
          <li key={id}>
            <strong>{peel}</strong> <span class="mono">{fingerprint}</span>
          </li>
        ))}
        {requested.length > maxNamed && <li class="muted">and {requested.length - maxNamed} more</li>}
      </ul>
      {contested.length > 0 && <Contested count={contested.length} alone={chosen.length === 1} />}
      {strange.length > 0 && <Insist strange={strange} force={force} />}
      {had.length > 0 && (
        <FormerLabels had={had} drop={drop} mayDrop={app.session.may("enrollments", "label")} />
      )}
      {action !== "approve" && (
        <ReasonField id="decide-reason" label="Reason, kept with the enrollment" reason={reason} />
      )}
    </Confirm>
  );
}

async function decide(
  { client }: App,
  action: Action,
  { id, trust, former_labels }: Listed,
  { reason, drops }: { reason: string; drops: boolean },
) {
  if (action === "approve") {
    const force = trust === "MISMATCH!" ? true : undefined;
    const drop_labels = drops && former_labels !== undefined ? true : undefined;
    await client.call(routes.approveEnrollment, { id, ...defined({ force, drop_labels }) });
    return;
  }
  const route = action === "reject" ? routes.rejectEnrollment : routes.revokeEnrollment;
  await client.call(route, { id, ...(reason === "" ? {} : { reason }) });
}

function Contested({ count, alone }: { count: number; alone: boolean }) {
  const left = count === 1 ? "1 host is" : `${count} hosts are`;
  return (
    <p class="notice failed">
      {alone
        ? "Other hosts that wait under the same peel id are rejected."
        : `${left} left out, because several hosts wait under one peel id: compare them, and approve the right one alone.`}
    </p>
  );
}

function Insist({ strange, force }: { strange: readonly Listed[]; force: Signal<boolean> }) {
  return (
    <label class="notice failed">
      <input
        type="checkbox"
        name="decide-force"
        checked={force.value}
        onChange={({ currentTarget }) => {
          force.value = currentTarget.checked;
        }}
      />
      <span>
        Approve also {strange.length === 1 ? strange[0]?.peel : `the ${strange.length} hosts`} that trusted
        another CA root. Someone may stand between them and this fleet.
      </span>
    </label>
  );
}

/** What the hosts were labelled with before: an approval gives it to them again. */
function FormerLabels(props: { had: readonly Listed[]; drop: Signal<boolean>; mayDrop: boolean }) {
  const { had, drop, mayDrop } = props;
  return (
    <div class="notice">
      <div class="stack small">
        <p>Labels of the enrollment before, which an approval gives again:</p>
        <ul>
          {had.map(({ id, peel, former_labels }) => (
            <li key={id}>
              <strong>{peel}</strong> <span class="mono">{labelText(former_labels ?? {})}</span>
            </li>
          ))}
        </ul>
        {mayDrop && (
          <label>
            <input
              type="checkbox"
              name="decide-drop-labels"
              checked={drop.value}
              onChange={({ currentTarget }) => {
                drop.value = currentTarget.checked;
              }}
            />
            <span>Approve without these labels</span>
          </label>
        )}
      </div>
    </div>
  );
}

const labelText = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
