import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { TargetSearch } from "../../targets/mod.ts";
import { DriftTable } from "./drift-table.tsx";
import { FailureTable } from "./failure-table.tsx";
import { GroupTable } from "./group-table.tsx";
import { topFailures } from "./top-failures.ts";
import { useDrift } from "./use-drift.ts";

const changes = ["svc/compliance/"];
const shows = ["differ", "failed", "drifted", "stale", "never", "described"] as const;

/** How the fleet follows what is described. The address has the target, and which peels are listed. */
export function States({ app, place }: { app: App; place: Place }) {
  const target = place.query.get("target") ?? "";
  const show = shows.find((one) => one === place.query.get("show")) ?? "differ";
  const input = target === "" ? {} : { target };
  const status = useQuery(
    app,
    target,
    (signal) => app.client.call(routes.countStates, input, signal),
    changes,
  );
  const drift = useDrift(app, target, show === "differ" ? undefined : show);
  const change = (name: string, text: string) => {
    const query = new URLSearchParams(place.query);
    if (text === "") query.delete(name);
    else query.set(name, text);
    app.router.go(query.size === 0 ? "/states" : `/states?${query}`, { replace: true });
  };
  const counts = status.value?.counts;
  const isUnused = counts !== undefined && Object.values(counts).every((count) => count === 0);
  const neverRan =
    counts !== undefined &&
    !isUnused &&
    (status.value?.groups ?? []).every(({ commit }) => commit === undefined);
  const failures = topFailures(drift.value?.items ?? []);
  return (
    <div class="page">
      <header class="page-head">
        <h1>States</h1>
      </header>
      <div class="tools">
        <TargetSearch
          app={app}
          id="states-target"
          label="Only peels of a target expression"
          placeholder="Only these peels: web-* and G@os:Debian"
          target={target}
          onTarget={(text) => change("target", text)}
        />
      </div>
      <Problem problem={status.problem} />
      {isUnused && (
        <div class="card">
          {target === "" ? (
            <Empty title="No peels yet" command="svc enroll token create --peel 'web-*' --uses 10">
              Peels that have joined are counted here by their last state run.
            </Empty>
          ) : (
            <Empty title="No peel matches">
              Peels that have joined are searched, also those that are silent.
            </Empty>
          )}
        </div>
      )}
      {neverRan && (
        <div class="card">
          <Empty title="No state run yet" command={`svc run ${quoted(target)} state.apply test=true`}>
            Try what the states would change. A run without test=true changes the hosts.
          </Empty>
        </div>
      )}
      {counts !== undefined && !isUnused && (
        <section class="card" aria-labelledby="status-head">
          <header>
            <h2 id="status-head">Compliance</h2>
          </header>
          <div class="body">
            <Counts label="Peels by their last state run" counts={Object.entries(counts)} />
          </div>
        </section>
      )}
      {status.value !== undefined && !isUnused && (
        <GroupTable groups={status.value.groups} leftOut={status.value.groups_left_out ?? 0} />
      )}
      {failures.length > 0 && <FailureTable failures={failures} />}
      {counts !== undefined && !isUnused && (
        <section class="stack" aria-labelledby="drift-head">
          <div class="page-head">
            <h2 id="drift-head">Peels</h2>
            <label class="visually-hidden" for="states-show">
              Which peels
            </label>
            <select
              id="states-show"
              class="select choice-width"
              value={show}
              onChange={({ currentTarget }) =>
                change("show", currentTarget.value === "differ" ? "" : currentTarget.value)
              }
            >
              <option value="differ">Not as described</option>
              <option value="failed">Failed</option>
              <option value="drifted">Drifted</option>
              <option value="stale">Last run too long ago</option>
              <option value="never">Never reported a run</option>
              <option value="described">As described</option>
            </select>
            <span class="muted number" role="status">
              {drift.value === undefined
                ? "Reading …"
                : `${drift.value.items.length.toLocaleString("en")}${drift.value.more ? "+" : ""} listed`}
            </span>
          </div>
          <Problem problem={drift.problem} />
          {drift.value !== undefined && <DriftTable app={app} peels={drift.value.items} />}
        </section>
      )}
    </div>
  );
}

/** As a word of a shell. */
const quoted = (target: string): string => (target === "" ? "'*'" : `'${target.replaceAll("'", `'\\''`)}'`);
