import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { judgeServers, judgeStreams } from "./judge-servers.ts";
import { Servers } from "./servers.tsx";
import { Streams } from "./streams.tsx";

/** The servers of the bus: how each is, where each stream is stored, and what needs attention. */
export function Cluster({ app }: { app: App }) {
  const { value, problem } = useQuery(app, "cluster", (signal) =>
    app.client.call(routes.showCluster, {}, signal),
  );
  return (
    <div class="page">
      <header class="page-head">
        <h1>Cluster</h1>
        {value !== undefined && (
          <span class="muted">
            <Status
              word={value.problems.length === 0 ? "no problems" : "needs attention"}
              outcome={value.problems.length === 0 ? "ok" : "failed"}
            />{" "}
            {value.clustered
              ? `${value.members.length} servers, ${value.leader === "" ? "no leader" : `led by ${value.leader}`}`
              : "one server"}
            , {value.wanted_replicas} {value.wanted_replicas === 1 ? "replica" : "replicas"} of each stream
          </span>
        )}
      </header>
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
    </div>
  );
}
