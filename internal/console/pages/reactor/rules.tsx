import { useSignal } from "@preact/signals";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { Time } from "../../kit/time.tsx";
import { ResetBreaker } from "./reset-breaker.tsx";

/** The rules in force, and their breakers. */
export function ReactorRules({ app }: { app: App }) {
  const resetting = useSignal<string | undefined>(undefined);
  const { value, problem, reload } = useQuery(app, "reactor rules", (signal) =>
    app.client.call(routes.listReactorRules, {}, signal),
  );
  const mayReset = app.session.may("reactor", "reset");
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
          columns={[
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
                      until <Time at={until} now={app.now} />
                    </span>{" "}
                    {mayReset && (
                      <button
                        type="button"
                        class="button in-row"
                        aria-label={`Close the breaker of ${name}`}
                        onClick={() => {
                          resetting.value = name;
                        }}
                      >
                        Close
                      </button>
                    )}
                  </>
                ),
              by: ({ breaker_open_until: until }) => (until === undefined ? 1 : 0),
            },
            {
              id: "match",
              title: "Tags",
              show: ({ match }) => <span class="mono">{match.join(" ")}</span>,
            },
            {
              id: "source",
              title: "Source",
              wide: true,
              show: ({ source }) => <span class="mono">{source ?? "*"}</span>,
            },
            {
              id: "when",
              title: "When",
              wide: true,
              show: ({ when }) => <span class="mono">{when.join(" and ")}</span>,
            },
            { id: "actions", title: "Does", wide: true, show: ({ actions }) => actions.join(", ") },
            {
              id: "at",
              title: "File",
              wide: true,
              show: ({ file, line }) => (
                <span class="mono" title={file}>{`${file.split("/").at(-1)}:${line}`}</span>
              ),
            },
          ]}
          empty={
            <Empty title="No rules" command="svc reactor lint reactor.d">
              {`Put rule files into reactor.dir of each master; ${value.master} reads them again when they change. This checks them before.`}
            </Empty>
          }
        />
      )}
      {resetting.value !== undefined && (
        <ResetBreaker
          app={app}
          rule={resetting.value}
          close={() => {
            resetting.value = undefined;
            reload();
          }}
        />
      )}
    </>
  );
}
