import { type App, type ConsolePage, routes, useAnswer } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { judgeServers, judgeStreams } from "./judge-servers.ts";
import { Servers } from "./servers.tsx";
import { Streams } from "./streams.tsx";

export const clusterPage: ConsolePage = {
  name: "Cluster",
  path: "/cluster",
  key: "c",
  may: (session) => session.may("cluster", "read"),
  View: Cluster,
};

/** The servers of the bus: how each is, where each stream is stored, and what needs attention. */
function Cluster({ app }: { app: App }) {
  const { value, problem } = useAnswer(app, routes.showCluster, {});
  return (
    <Page title="Cluster" beside={value !== undefined && <Summary cluster={value} />}>
      <Problem problem={problem} />
      {value?.problems.map((text) => (
        <p key={text} class="notice failed" role="alert">
          {text}
        </p>
      ))}
      {value === undefined && problem === undefined && <p class="muted">Reading the cluster</p>}
      {value !== undefined && (
        <>
          <Servers servers={judgeServers(value)} />
          {!value.clustered && (
            <div class="card">
              <Empty
                title="This fleet fails with its one host"
                command="svc cluster add n2.example.com,n3.example.com --dir /srv/fleet"
              >
                Three hosts survive the loss of any one of them. Run this on the host of the fleet:
              </Empty>
            </div>
          )}
          <Streams streams={judgeStreams(value)} keys={app.keys} />
        </>
      )}
    </Page>
  );
}

type ShownCluster = NonNullable<(typeof routes.showCluster)["types"]>["answer"];

function Summary({ cluster }: { cluster: ShownCluster }) {
  const { problems, clustered, members, leader, wanted_replicas: replicas } = cluster;
  const isWell = problems.length === 0;
  return (
    <span class="muted">
      <Status word={isWell ? "no problems" : "needs attention"} outcome={isWell ? "ok" : "failed"} />{" "}
      {clustered
        ? `${members.length} servers, ${leader === "" ? "no leader" : `led by ${leader}`}`
        : "one server"}
      , {replicas} {replicas === 1 ? "replica" : "replicas"} of each stream
    </span>
  );
}
