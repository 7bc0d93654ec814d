import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import type { judgeServers } from "./judge-servers.ts";

/** The servers of the bus, and how much of the storage each has. */
export function Servers({ servers }: { servers: ReturnType<typeof judgeServers> }) {
  return (
    <section class="stack" aria-labelledby="servers-head">
      <h2 id="servers-head">Servers</h2>
      <Table
        label="Servers"
        short
        rows={servers}
        rowKey={({ server }) => server}
        columns={[
          {
            id: "server",
            title: "Server",
            show: ({ server, leads_group }) => (
              <>
                {server}
                {leads_group && <span class="muted"> (leads)</span>}
              </>
            ),
          },
          {
            id: "state",
            title: "State",
            show: ({ state, outcome, problem }) => (
              <span title={problem}>
                <Status word={state} outcome={outcome} />
                {problem !== undefined && <span class="muted"> {problem}</span>}
              </span>
            ),
          },
          { id: "version", title: "Version", wide: true, show: ({ version }) => version || "not known" },
          {
            id: "leads",
            title: "Leads",
            align: "end",
            wide: true,
            show: ({ leads }) => leads.toLocaleString("en"),
          },
          { id: "stores", title: "Stores", align: "end", show: ({ stores }) => stores.toLocaleString("en") },
          { id: "lag", title: "Lacks", align: "end", show: ({ lag }) => lag.toLocaleString("en") },
        ]}
      />
    </section>
  );
}
