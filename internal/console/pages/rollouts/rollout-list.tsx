import { useMemo } from "preact/hooks";
import { defined } from "../../../base/defined.ts";
import { contentCell } from "../../../wire/content-words.ts";
import { type App, allPages, routes, useQuery } from "../../api/mod.ts";
import { type AddressField, fieldValue } from "../../kit/address-field.ts";
import { LinkButton } from "../../kit/button.tsx";
import { FieldChoices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, numberColumn, statusColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { useKeys } from "../../kit/use-keys.ts";

const statuses: AddressField<"all" | "running" | "paused" | "completed" | "failed" | "aborted"> = {
  name: "status",
  values: ["all", "running", "paused", "completed", "failed", "aborted"],
  usual: "all",
};
const maxRollouts = 2_000;

/** Rollouts, newest first. */
export function RolloutList({ app, place }: { app: App; place: Place }) {
  const status = fieldValue(statuses, place);
  const input = { limit: 500, ...defined({ status: status === "all" ? undefined : status }) };
  const { value, problem } = useQuery(
    app,
    status,
    (signal) => allPages(app, routes.listRollouts, input, { max: maxRollouts, signal }),
    ["svc/rollout/"],
  );
  const columns = useMemo(() => rolloutColumns(app), [app]);
  const mayStart = app.session.may("rollouts", "start");
  const start = { n: { title: "New rollout", run: () => app.router.go("/rollouts/new") } };
  useKeys(app.keys, mayStart ? start : {}, [mayStart]);
  return (
    <ListPage
      {...{ app, problem, columns, rows: value?.items }}
      title="Rollouts"
      label="Rollouts"
      rowKey={({ id }) => id}
      to={({ id }) => `/rollouts/${id}`}
      actions={mayStart ? <NewRolloutButton /> : undefined}
      tools={<FieldChoices label="Status" place={place} field={statuses} />}
      empty={status === "all" ? <NoRollouts mayStart={mayStart} /> : <NoRollout status={status} />}
    />
  );
}

const NewRolloutButton = () => (
  <LinkButton kind="primary" to="/rollouts/new">
    New rollout
  </LinkButton>
);

type ListedRollout = NonNullable<(typeof routes.listRollouts)["types"]>["answer"][number];

const rolloutColumns = ({ now }: Pick<App, "now">): readonly Column<ListedRollout>[] => [
  monoColumn("function", "Function", (one) => one.function),
  statusColumn("status", "Status", (one) => one.status),
  { id: "wave", title: "Waves", align: "end", show: (one) => `${one.wave} of ${one.waves}` },
  numberColumn("targets", "Peels", (one) => one.targets, { wide: true }),
  {
    id: "failures",
    title: "Not ok",
    align: "end",
    show: (one) => one.failures || "",
    by: (one) => one.failures,
  },
  monoColumn("target", "Target", (one) => one.target ?? "list", { wide: true, unsorted: true }),
  monoColumn("files", "Files", ({ content }) => content && contentCell(content), {
    wide: true,
    unsorted: true,
  }),
  textColumn("by", "By", (one) => one.created_by, { wide: true }),
  timeColumn(now, "at", "Created", (one) => one.created_at),
];

function NoRollouts({ mayStart }: { mayStart: boolean }) {
  return (
    <Empty title="No rollouts yet" command="svc rollout start '*' state.apply --canary 1 --waves 25%">
      A rollout runs a function on one host first, then in waves, and stops when too many fail.
      {mayStart && (
        <>
          {" "}
          <a href={hrefOf("/rollouts/new")}>Start one</a>, here or with svc.
        </>
      )}
    </Empty>
  );
}

const NoRollout = ({ status }: { status: string }) => (
  <Empty title={`No rollout is ${status}`}>
    <a href={hrefOf("/rollouts")}>Show all rollouts</a>
  </Empty>
);
