import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { Time } from "../../kit/time.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { ResetBreaker } from "./reset-breaker.tsx";

type Rule = NonNullable<(typeof routes.listReactorRules)["types"]>["answer"]["rules"][number];

/** The rules in force, and their breakers. */
export function ReactorRules({ app }: { app: App }) {
  const { value, problem, reload } = useAnswer(app, routes.listReactorRules, {});
  const resetting = useDialog<string>(reload);
  const reset = app.session.may("reactor", "reset") ? resetting.open : undefined;
  return (
    <>
      <Problem problem={problem} />
      {value?.problem !== undefined && <p class="notice failed">{value.problem}</p>}
      {value?.refused !== undefined && <p class="notice">{value.refused}</p>}
      {value !== undefined && (
        <Table
          label="Rules"
          rows={value.rules}
          rowKey={({ name }) => name}
          short
          columns={ruleColumns(app, reset)}
          empty={
            <Empty title="No rules" command="svc reactor lint reactor.d">
              {`Put rule files into reactor.dir of each master; ${value.master} reads them again when they change. This checks them before.`}
            </Empty>
          }
        />
      )}
      {resetting.about !== undefined && (
        <ResetBreaker app={app} rule={resetting.about} close={resetting.close} />
      )}
    </>
  );
}

const [unsorted, wide] = [{ unsorted: true }, { unsorted: true, wide: true }] as const;

/** @param reset closes the breaker of a rule; absent for those who may not */
const ruleColumns = (
  { now }: Pick<App, "now">,
  reset: ((rule: string) => void) | undefined,
): readonly Column<Rule>[] => [
  {
    id: "name",
    title: "Rule",
    show: ({ name, unsafe }) => (
      <span class="mono" title={unsafe ? "Event data may decide what it does" : undefined}>
        {unsafe ? `${name} (unsafe)` : name}
      </span>
    ),
  },
  {
    id: "breaker",
    title: "Breaker",
    show: ({ name, breaker_open_until: until }) =>
      until === undefined ? (
        <Status word="closed" outcome="ok" />
      ) : (
        <>
          <Status word="open" outcome="failed" />{" "}
          <span class="muted">
            closes <Time at={until} now={now} />
          </span>{" "}
          {reset !== undefined && (
            <Button kind="in-row" aria-label={`Close the breaker of ${name}`} onClick={() => reset(name)}>
              Close
            </Button>
          )}
        </>
      ),
    by: ({ breaker_open_until: until }) => (until === undefined ? 1 : 0),
  },
  {
    id: "fired",
    title: "Fired",
    align: "end",
    show: ({ fired = 0, last_fired_at: last }) => (
      <span class="number">
        {fired.toLocaleString("en")}
        {last !== undefined && (
          <span class="muted wide">
            , <Time at={last} now={now} />
          </span>
        )}
      </span>
    ),
    by: ({ fired = 0 }) => fired,
  },
  monoColumn(
    "match",
    "Tags",
    ({ match, source }) => `${match.join(" ")}${source === undefined ? "" : ` from ${source}`}`,
    unsorted,
  ),
  monoColumn("when", "When", ({ when }) => when.join(" and "), wide),
  { id: "actions", title: "Does", wide: true, show: ({ actions }) => actions.join(", ") },
  {
    id: "at",
    title: "File",
    wide: true,
    show: ({ file, line }) => <span class="mono" title={file}>{`${file.split("/").at(-1)}:${line}`}</span>,
  },
];
