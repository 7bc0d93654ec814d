import { type App, type ConsolePage, routes, useAnswer } from "../../api/mod.ts";
import { withFields } from "../../kit/address-field.ts";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { TargetSearch } from "../../targets/mod.ts";
import { Candidates } from "./candidates.tsx";
import { Drift, statusOf } from "./drift.tsx";
import { FailureTable } from "./failure-table.tsx";
import { FileList } from "./file-list.tsx";
import { FilesLink } from "./files-link.tsx";
import { filesPath } from "./files-path.ts";
import { GroupTable } from "./group-table.tsx";
import { topFailures } from "./top-failures.ts";
import { useDrift } from "./use-drift.ts";

export const statesPage: ConsolePage = {
  name: "States",
  path: "/states",
  key: "s",
  may: (session) => session.may("states", "read"),
  View: States,
};

const changes = ["svc/compliance/"];

/** How the fleet follows what is described, or the files: `/states/files`. */
function States({ app, place }: { app: App; place: Place }) {
  if (place.path === filesPath) return <FileList app={app} />;
  return <Compliance app={app} place={place} />;
}

/** The address has the target, and which peels are listed. */
function Compliance({ app, place }: { app: App; place: Place }) {
  const target = place.query.get("target") ?? "";
  const input = target === "" ? {} : { target };
  const { value, problem } = useAnswer(app, routes.countStates, input, changes);
  const drift = useDrift(app, target, statusOf(place));
  const isUsed = value !== undefined && Object.values(value.counts).some((count) => count > 0);
  const failures = topFailures(drift.value?.items ?? []);
  return (
    <Page title="States" actions={<FilesLink app={app} />}>
      <div class="tools">
        <TargetSearch
          app={app}
          id="states-target"
          label="Only peels of a target expression"
          placeholder="Only these peels: web-* and G@os:Debian"
          target={target}
          onTarget={(text) => app.router.go(withFields(place, { target: text }), { replace: true })}
        />
      </div>
      <Problem problem={problem} />
      <Candidates app={app} />
      {value !== undefined && !isUsed && <NoPeels target={target} />}
      {isUsed && value.groups.every(({ commit }) => commit === undefined) && <NeverRan target={target} />}
      {isUsed && (
        <>
          <Card id="status-head" title="Compliance" body="plain">
            <Counts label="Peels by their last state run" counts={Object.entries(value.counts)} />
          </Card>
          <GroupTable groups={value.groups} leftOut={value.groups_left_out ?? 0} />
        </>
      )}
      {failures.length > 0 && <FailureTable failures={failures} />}
      {isUsed && <Drift app={app} place={place} drift={drift} />}
    </Page>
  );
}

function NoPeels({ target }: { target: string }) {
  return (
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
  );
}

const NeverRan = ({ target }: { target: string }) => (
  <div class="card">
    <Empty title="No state run yet" command={`svc run ${quoted(target)} state.apply test=true`}>
      Try what the states would change. A run without test=true changes the hosts.
    </Empty>
  </div>
);

/** As a word of a shell. */
const quoted = (target: string): string => (target === "" ? "'*'" : `'${target.replaceAll("'", `'\\''`)}'`);
