import { useMemo, useRef } from "preact/hooks";
import { type App, type List, type ListedPeel, usePeels } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import { TargetSearch } from "../../targets/mod.ts";
import { ColumnChoice } from "./column-choice.tsx";
import { peelColumns, usualColumns } from "./columns.tsx";

const shows = ["all", "alive", "silent"] as const;

/** Peels by a target expression. The address has the expression and the columns, so that it can be sent to others. */
export function PeelList({ app, place }: { app: App; place: Place }) {
  const target = place.query.get("target") ?? "";
  const show = shows.find((one) => one === place.query.get("show")) ?? "all";
  const chosen = place.query.get("columns")?.split(",") ?? usualColumns;
  const last = useRef<List<ListedPeel> | undefined>(undefined);
  const inSight = useRef<readonly ListedPeel[]>([]);
  const { value: found, problem } = usePeels(app, target, { inSight });
  // While another target is read, the peels of the last one stay.
  if (found !== undefined) last.current = found;
  const value = found ?? last.current;
  const change = (name: string, text: string) => {
    const query = new URLSearchParams(place.query);
    if (text === "") query.delete(name);
    else query.set(name, text);
    app.router.go(query.size === 0 ? "/peels" : `/peels?${query}`, { replace: true });
  };
  const rows = useMemo(() => {
    const all = value?.items ?? [];
    return show === "all" ? all : all.filter(({ alive }) => alive === (show === "alive"));
  }, [value, show]);
  const columns = useMemo(() => peelColumns(app), [app]);
  // Only other columns are other objects: the table draws its rows again then.
  const shown = useMemo(
    () => columns.filter(({ id }) => id === "id" || chosen.includes(id)),
    [columns, chosen.join()],
  );
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Peels</h1>
        <span class="muted number" role="status">
          {value === undefined
            ? "Reading …"
            : `${rows.length.toLocaleString("en")}${value.more ? "+" : ""} shown`}
        </span>
      </header>
      <div class="tools">
        <TargetSearch
          app={app}
          id="peels-target"
          label="Search peels by a target expression"
          placeholder="Search: web-* and G@os:Debian"
          target={target}
          onTarget={(text) => change("target", text)}
        />
        <fieldset class="choice">
          <legend class="visually-hidden">Show</legend>
          {shows.map((one) => (
            <label key={one}>
              <input
                type="radio"
                name="show"
                checked={show === one}
                onChange={() => change("show", one === "all" ? "" : one)}
              />
              <span>{{ all: "All", alive: "Alive", silent: "Silent" }[one]}</span>
            </label>
          ))}
        </fieldset>
        <ColumnChoice
          columns={columns.slice(1)}
          chosen={chosen}
          onChange={(ids) => change("columns", ids.join() === usualColumns.join() ? "" : ids.join())}
        />
      </div>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Peels"
          rows={rows}
          rowKey={({ peel_id }) => peel_id}
          columns={shown}
          inSight={inSight}
          to={({ id }) => `/peels/${id}`}
          go={app.router.go}
          keys={app.keys}
          empty={
            target === "" && show === "all" ? (
              <Empty title="No peels yet" command="svc enroll token create --peel 'web-*' --uses 10">
                Create a token, and give it to svc-peel on each host. Hosts that ask without one wait under
                Enrollments.
              </Empty>
            ) : (
              <Empty title="No peel matches">
                Peels that have joined are searched, also those that are silent.
              </Empty>
            )
          }
        />
      )}
    </div>
  );
}
