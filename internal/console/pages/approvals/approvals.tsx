import type { App, ConsolePage } from "../../api/mod.ts";
import type { Place } from "../../kit/router.ts";
import { ApprovalList } from "./approval-list.tsx";
import { ApprovalPage } from "./approval-page.tsx";

export const approvalsPage: ConsolePage = {
  name: "Approvals",
  path: "/approvals",
  key: "a",
  may: (session) => session.may("approvals", "list"),
  View: Approvals,
};

/** The list of requests, or one of them: `/approvals/<id>`. */
function Approvals({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  if (id === undefined) return <ApprovalList app={app} place={place} />;
  return <ApprovalPage key={id} app={app} id={id} />;
}
