import { displayPeelId } from "../../../base/names/peel-id.ts";
import type { App } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";
import type { Approval } from "./approval.ts";

const maxNamed = 100;

/** What a request says, and how far it is. */
export function ApprovalFacts({ app: { now }, approval }: { app: App; approval: Approval }) {
  return (
    <div class="grid">
      <Card
        id="approval-request"
        title="Request"
        beside={<Time at={approval.asked_at} now={now} />}
        body="stack"
      >
        <section class="wide-text mono" tabIndex={0} aria-label="Fields of the request">
          {JSON.stringify(approval.request, null, 2)}
        </section>
        <dl class="facts">
          <Fact name="SHA-256" as="mono" value={approval.request_digest} />
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
