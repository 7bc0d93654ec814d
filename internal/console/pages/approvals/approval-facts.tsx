import { displayPeelId } from "../../../base/peel-id.ts";
import type { App } from "../../api/mod.ts";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";
import type { Approval } from "./approval.ts";

const mostNamed = 100;

/** What a request says, and how far it is. */
export function ApprovalFacts({ app: { now }, approval }: { app: App; approval: Approval }) {
  const { agreed, needs, targets } = approval;
  return (
    <div class="grid">
      <section class="card" aria-labelledby="approval-request">
        <header>
          <h2 id="approval-request">Request</h2>
          <Time at={approval.asked_at} now={now} />
        </header>
        <div class="body stack">
          <section class="wide-text mono" tabIndex={0} aria-label="Fields of the request">
            {JSON.stringify(approval.request, null, 2)}
          </section>
          <dl class="facts">
            <dt>SHA-256</dt>
            <dd class="mono">{approval.request_digest}</dd>
            <dt>Signed</dt>
            <dd>{approval.signed === undefined ? "by no key" : "by the key of the operator who asked"}</dd>
            {targets !== undefined && (
              <>
                <dt>{targets.length.toLocaleString("en")} peels</dt>
                <dd class="tags">
                  {targets.slice(0, mostNamed).map((one) => (
                    <span key={one} class="tag">
                      {displayPeelId(one)}
                    </span>
                  ))}
                  {targets.length > mostNamed && <span class="muted">and more</span>}
                </dd>
              </>
            )}
          </dl>
        </div>
      </section>
      <section class="card" aria-labelledby="approval-agreed">
        <header>
          <h2 id="approval-agreed">
            {agreed.length} of {needs} agreed
          </h2>
        </header>
        <dl class="body facts">
          <dt>Asked by</dt>
          <dd>{approval.asked_by}</dd>
          <dt>Agreed</dt>
          <dd>{agreed.length === 0 ? "nobody yet" : agreed.join(", ")}</dd>
          {approval.denied_by !== undefined && (
            <>
              <dt>Denied by</dt>
              <dd>{approval.denied_by}</dd>
            </>
          )}
          {approval.reason !== undefined && (
            <>
              <dt>{approval.denied_by === undefined ? "Failed" : "Reason"}</dt>
              <dd>{approval.reason}</dd>
            </>
          )}
          <dt>Rule</dt>
          <dd>{approval.rule}</dd>
          <dt>Expires</dt>
          <dd>
            <Time at={approval.expires_at} now={now} />
          </dd>
          {approval.job !== undefined && (
            <>
              <dt>Job</dt>
              <dd>
                <a class="mono" href={hrefOf(`/jobs/${approval.job}`)}>
                  {approval.job}
                </a>
              </dd>
            </>
          )}
          {approval.rollout !== undefined && (
            <>
              <dt>Rollout</dt>
              <dd>
                <a class="mono" href={hrefOf(`/rollouts/${approval.rollout}`)}>
                  {approval.rollout}
                </a>
              </dd>
            </>
          )}
          <dt>ID</dt>
          <dd class="mono">{approval.id}</dd>
        </dl>
      </section>
    </div>
  );
}
