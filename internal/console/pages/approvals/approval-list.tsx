import { useMemo } from "preact/hooks";
import { type App, routes, useAnswer } from "../../api/mod.ts";
import { type AddressField, fieldValue } from "../../kit/address-field.ts";
import { FieldRadios } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import type { Place } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, monoColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { type ListedApproval, statusOf } from "./approval.ts";
import { requestSentence } from "./request-words.ts";

const shown: AddressField<"waiting" | "all"> = { name: "show", values: ["waiting", "all"], usual: "waiting" };

/** Requests that wait for other operators, or waited. */
export function ApprovalList({ app, place }: { app: App; place: Place }) {
  const isAll = fieldValue(shown, place) === "all";
  const { value, problem } = useAnswer(app, routes.listApprovals, {}, ["svc/approval/"]);
  const columns = useMemo(() => approvalColumns(app), [app]);
  const rows = value?.approvals.filter(({ state }) => isAll || state === "waiting");
  return (
    <ListPage
      {...{ app, rows, problem, columns }}
      title="Approvals"
      label="Requests"
      rowKey={({ id }) => id}
      to={({ id }) => `/approvals/${id}`}
      tools={
        <div class="tools">
          <FieldRadios label="Show" place={place} field={shown} router={app.router} />
        </div>
      }
      empty={
        <Empty title={isAll ? "No requests" : "Nothing waits"} command="svc roles show">
          A request waits here when a rule of a role says how many others must agree: approvals in the roles
          file. The command shows the rules in force.
        </Empty>
      }
    />
  );
}

const approvalColumns = ({ now }: Pick<App, "now">): readonly Column<ListedApproval>[] => [
  longColumn("what", "What will happen", requestSentence),
  monoColumn("target", "Target", ({ target }) => target, { wide: true }),
  {
    id: "state",
    title: "State",
    show: (one) => <Status {...statusOf(one)} />,
    by: ({ state }) => state,
  },
  textColumn("by", "Asked by", (one) => one.asked_by),
  {
    id: "agreed",
    title: "Agreed",
    show: ({ agreed, needs }) => (
      <span class="number" title={agreed.join(", ")}>
        {agreed.length} of {needs}
      </span>
    ),
  },
  longColumn("rule", "Rule", ({ rule }) => rule, { wide: true, unsorted: true }),
  timeColumn(now, "at", "Asked", (one) => one.asked_at, { wide: true }),
  timeColumn(now, "expires", "Expires", (one) => one.expires_at, { wide: true }),
];
