import type { App } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import type { JudgedStream } from "./judge-servers.ts";

/** The streams of the bus, and which servers store each. */
export function Streams({ streams, keys }: { streams: readonly JudgedStream[]; keys: App["keys"] }) {
  return (
    <section class="stack" aria-labelledby="streams-head">
      <h2 id="streams-head">Streams</h2>
      <Table
        label="Streams"
        rows={streams}
        rowKey={({ stream }) => stream}
        keys={keys}
        columns={[
          {
            id: "stream",
            title: "Stream",
            show: ({ stream }) => <span class="mono">{stream}</span>,
            by: ({ stream }) => stream,
          },
          {
            id: "state",
            title: "State",
            show: (stream) => (
              <span title={lacking(stream)}>
                <Status word={stream.word} outcome={stream.outcome} />
                {stream.behind.length > 0 && <span class="muted"> {lacking(stream)}</span>}
              </span>
            ),
            by: ({ word }) => word,
          },
          {
            id: "replicas",
            title: "Replicas",
            align: "end",
            show: ({ replicas }) => replicas.toLocaleString("en"),
            by: ({ replicas }) => replicas,
          },
          {
            id: "leader",
            title: "Leader",
            show: ({ leader }) => leader || "none",
            by: ({ leader }) => leader,
          },
          {
            id: "servers",
            title: "Servers",
            wide: true,
            show: ({ servers }) => <span title={servers.join(", ")}>{servers.join(", ")}</span>,
          },
        ]}
      />
    </section>
  );
}

const lacking = ({ behind }: JudgedStream): string =>
  behind.map(({ server, lag }) => `${server} lacks ${lag}`).join(", ");
