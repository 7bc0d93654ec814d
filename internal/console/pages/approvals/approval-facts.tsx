import { displayPeelId } from "../../../base/names/peel-id.ts";
import type { App } from "../../api/mod.ts";
import { Arguments } from "../../kit/arguments.tsx";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";
import type { Approval } from "./approval.ts";
import { otherFields, requestSentence } from "./request-words.ts";

const maxNamed = 100;

/** What a request says, and how far it is. */
export function ApprovalFacts({ app: { now }, approval }: { app: App; approval: Approval }) {
  return (
    <div class="grid">
      <Card
        id="approval-request"
        title="What will happen"
        beside={<Time at={approval.asked_at} now={now} />}
        body="stack"
      >
        <WhatHappens approval={approval} />
        <dl class="facts">
          <Fact name="SHA-256 of the request" as="mono" value={approval.request_digest} />
          <Fact name="Signed">
            {approval.signed === undefined ? "by no key" : "by the key of the requester"}
          </Fact>
          <Targets of={approval} />
        </dl>
      </Card>
      <Agreement approval={approval} now={now} />
    </div>
  );
}

/** What the request does, all of it: one who agrees must not have to know its fields. */
function WhatHappens({ approval }: { approval: Approval }) {
  const { request, record, targets } = approval;
  const {
    function: called,
    args,
    check,
    target,
  } = Object(request) as {
    function?: string;
    args?: Record<string, unknown>;
    check?: { function?: string; args?: Record<string, unknown> };
    target?: string;
  };
  return (
    <>
      <p class="lead">
        {requestSentence(approval)}
        {targets !== undefined && target !== undefined && (
          <>
            {" "}
            that <code>{target}</code> means
          </>
        )}
        .
      </p>
      <dl class="facts request">
        <Fact name="Function" as="mono" value={called} />
        {args !== undefined && <Arguments args={args} />}
        {check?.function !== undefined && (
          <>
            <Fact name="Then checks" as="mono" value={check.function} />
            <Arguments args={check.args ?? {}} />
          </>
        )}
        {record !== undefined && <OperatorRecord of={record} />}
        {otherFields(request, record !== undefined).map(({ name, value }) => (
          <Fact key={name} name={name}>
            <span class="lines">{value}</span>
          </Fact>
        ))}
      </dl>
    </>
  );
}

/** What the record says that an administrator signed for an operator. */
function OperatorRecord({ of }: { of: NonNullable<Approval["record"]> }) {
  const { name, roles, public_key: key, disabled, expires_at: end, version } = of;
  return (
    <>
      <Fact name="Operator" as="mono" value={disabled ? `${name}, disabled` : name} />
      <Fact name="Roles" value={roles.join(", ")} />
      <Fact name="Key" as="mono" value={key} />
      <Fact name="Ends" value={end ?? "never"} />
      <Fact name="Version of the record" as="number" value={version} />
    </>
  );
}

function Targets({ of: { targets } }: { of: Pick<Approval, "targets"> }) {
  if (targets === undefined) return null;
  return (
    <Fact name={`${targets.length.toLocaleString("en")} peels`} as="tags">
      {targets.slice(0, maxNamed).map((one) => (
        <span key={one} class="tag">
          {displayPeelId(one)}
        </span>
      ))}
      {targets.length > maxNamed && <span class="muted">and more</span>}
    </Fact>
  );
}

function Agreement({ approval, now }: { approval: Approval } & Pick<App, "now">) {
  const { agreed, needs, denied_by: deniedBy, job, rollout } = approval;
  return (
    <Card id="approval-agreed" title={`${agreed.length} of ${needs} agreed`} body="facts">
      <Fact name="Asked by">{approval.asked_by}</Fact>
      <Fact name="Agreed">{agreed.length === 0 ? "nobody yet" : agreed.join(", ")}</Fact>
      <Fact name="Denied by">{deniedBy}</Fact>
      <Fact name={deniedBy === undefined ? "Failed" : "Reason"}>{approval.reason}</Fact>
      <Fact name="Rule">{approval.rule}</Fact>
      <Fact name="Expires">
        <Time at={approval.expires_at} now={now} />
      </Fact>
      <Fact name="Job">
        {job !== undefined && (
          <a class="mono" href={hrefOf(`/jobs/${job}`)}>
            {job}
          </a>
        )}
      </Fact>
      <Fact name="Rollout">
        {rollout !== undefined && (
          <a class="mono" href={hrefOf(`/rollouts/${rollout}`)}>
            {rollout}
          </a>
        )}
      </Fact>
      <Fact name="ID" as="mono" value={approval.id} />
    </Card>
  );
}
