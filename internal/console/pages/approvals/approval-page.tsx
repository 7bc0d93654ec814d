import { useSignal } from "@preact/signals";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { choicesOf, statusOf } from "./approval.ts";
import { ApprovalFacts } from "./approval-facts.tsx";
import { Decide } from "./decide.tsx";

/** One request: what is asked for, who agreed, and the decision. */
export function ApprovalPage({ app, id }: { app: App; id: string }) {
  const deciding = useSignal<"Approve" | "Deny" | "Withdraw" | undefined>(undefined);
  const {
    value: approval,
    problem,
    reload,
  } = useQuery(app, id, (signal) => app.client.call(routes.getApproval, { id }, signal), [
    `svc/approval/${id}/`,
  ]);
  if (problem !== undefined && approval === undefined) {
    return (
      <Empty whole title={`${id} cannot be shown`} command="svc approval list">
        {problem.message} <a href={hrefOf("/approvals")}>All requests</a>
      </Empty>
    );
  }
  if (approval === undefined) return <div class="page" />;
  const { view, may } = app.session;
  const choices = choicesOf(approval, {
    name: view.value?.name ?? "",
    roles: view.value?.roles,
    mayApprove: may("approvals", "approve"),
    mayDeny: may("approvals", "deny"),
  });
  const choose = (verb: "Approve" | "Deny" | "Withdraw") => () => {
    deciding.value = verb;
  };
  return (
    <div class="page">
      <header class="page-head">
        <h1>
          {approval.operation} of {approval.asked_by}
        </h1>
        <Status {...statusOf(approval)} />
        <div class="actions">
          {choices.deny !== undefined && (
            <button type="button" class="button danger" onClick={choose(choices.deny)}>
              {choices.deny}
            </button>
          )}
          {choices.approve && (
            <button type="button" class="button primary" onClick={choose("Approve")}>
              Approve
            </button>
          )}
        </div>
      </header>
      <Problem problem={problem} />
      {choices.why !== undefined && <p class="notice">{choices.why}</p>}
      {approval.state === "waiting" && may("approvals", "approve") && (
        <section class="notice" aria-label="Signature">
          <p>
            A browser has no key. Peels that insist on operators count only agreements that a key signed; for
            them agree with yours:
          </p>
          <code class="command">svc approval approve {id}</code>
        </section>
      )}
      <ApprovalFacts app={app} approval={approval} />
      {deciding.value !== undefined && (
        <Decide
          app={app}
          approval={approval}
          verb={deciding.value}
          close={() => {
            deciding.value = undefined;
            reload();
          }}
        />
      )}
    </div>
  );
}
