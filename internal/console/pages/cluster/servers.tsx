import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { numberColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import { diskOf, type judgeServers } from "./judge-servers.ts";

type Server = ReturnType<typeof judgeServers>[number];

const counts: readonly Column<Server>[] = [
  numberColumn("leads", "Leads stores", ({ leads }) => leads, { wide: true, unsorted: true }),
  numberColumn("stores", "Stores", ({ stores }) => stores, { wide: true, unsorted: true }),
  numberColumn("lag", "Entries missing", ({ lag }) => lag, { unsorted: true }),
];

/** The servers of the bus, and how much of the storage each has. */
export function Servers({ servers }: { servers: readonly Server[] }) {
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
            id: "disk",
            title: "Disk",
            align: "end",
            show: (server) => (
              <span class="number">
                {diskOf(server).isNearlyFull && <Status word="nearly full" outcome="timeout" />}{" "}
                {diskOf(server).words}
              </span>
            ),
          },
          ...counts,
        ]}
      />
    </section>
  );
}
