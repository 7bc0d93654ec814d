import type { App } from "../../api/mod.ts";
import type { Place } from "../../kit/router.ts";
import { ApprovalList } from "./approval-list.tsx";
import { ApprovalPage } from "./approval-page.tsx";

/** The list of requests, or one of them: `/approvals/<id>`. */
export function Approvals({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  if (id === undefined) return <ApprovalList app={app} place={place} />;
  return <ApprovalPage key={id} app={app} id={id} />;
}
