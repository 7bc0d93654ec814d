import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { choicesOf, statusOf } from "./approval.ts";
import { ApprovalFacts } from "./approval-facts.tsx";
import { FilesOf } from "./changes.tsx";
import { Decide } from "./decide.tsx";
import { requestSentence } from "./request-words.ts";

/** One request: what is asked for, who agreed, and the decision. */
export function ApprovalPage({ app, id }: { app: App; id: string }) {
  const {
    value: approval,
    problem,
    reload,
  } = useAnswer(app, routes.getApproval, { id, diff: true }, [`svc/approval/${id}/`]);
  const deciding = useDialog<"Approve" | "Deny" | "Withdraw">(reload);
  if (problem !== undefined && approval === undefined) {
    return (
      <Empty whole title={`${id} cannot be shown`} command="svc approval list">
        {problem.message} <a href={hrefOf("/approvals")}>All requests</a>
      </Empty>
    );
  }
  if (approval === undefined) return <div class="page" />;
  const { view, may } = app.session;
  const { approve, deny, why } = choicesOf(approval, {
    name: view.value?.name ?? "",
    roles: view.value?.roles,
    mayApprove: may("approvals", "approve"),
    mayDeny: may("approvals", "deny"),
  });
  return (
    <Page
      title={`${requestSentence(approval)}, asked by ${approval.asked_by}`}
      up={{ to: "/approvals", words: "Approvals" }}
      beside={<Status {...statusOf(approval)} />}
      actions={
        <>
          {deny !== undefined && (
            <Button kind="danger" onClick={() => deciding.open(deny)}>
              {deny}
            </Button>
          )}
          {approve && (
            <Button kind="primary" onClick={() => deciding.open("Approve")}>
              Approve
            </Button>
          )}
        </>
      }
    >
      <Problem problem={problem} />
      {why !== undefined && <p class="notice">{why}</p>}
      {approval.state === "waiting" && may("approvals", "approve") && (
        <section class="notice" aria-label="Signature">
          <p>
            Some hosts obey only what operators signed with their keys, and a browser has no key. If such
            hosts are among them, agree with your key in a terminal instead:
          </p>
          <code class="command">svc approval approve {id}</code>
        </section>
      )}
      <ApprovalFacts app={app} approval={approval} />
      <FilesOf of={approval} />
      {deciding.about !== undefined && (
        <Decide {...{ app, approval, verb: deciding.about }} close={deciding.close} />
      )}
    </Page>
  );
}
