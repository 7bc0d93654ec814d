import { sizeText } from "../../../base/byte-size.ts";
import type { App } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { longColumn, numberColumn } from "../../kit/table/columns.tsx";
import { Table } from "../../kit/table/table.tsx";
import type { JudgedStream } from "./judge-servers.ts";

const lacking = ({ behind }: JudgedStream): string =>
  behind.map(({ server, lag }) => `${server} lacks ${lag}`).join(", ");

/** What the bus calls `KV_jobs` is the bucket jobs. */
function nameOf(stream: string): { name: string; kind: string } {
  if (stream.startsWith("KV_")) return { name: stream.slice(3), kind: "bucket" };
  if (stream.startsWith("OBJ_")) return { name: stream.slice(4), kind: "files" };
  return { name: stream, kind: "stream" };
}

const columns: readonly Column<JudgedStream>[] = [
  {
    id: "stream",
    title: "Store",
    show: ({ stream }) => (
      <span title={stream}>
        {nameOf(stream).name} <span class="muted">{nameOf(stream).kind}</span>
      </span>
    ),
    by: ({ stream }) => nameOf(stream).name,
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
    id: "bytes",
    title: "Size",
    align: "end",
    wide: true,
    show: ({ bytes }) => <span class="number">{bytes === undefined ? "not known" : sizeText(bytes)}</span>,
    by: ({ bytes }) => bytes ?? 0,
  },
  numberColumn("replicas", "Replicas", ({ replicas }) => replicas),
  {
    id: "leader",
    title: "Leader",
    show: ({ leader }) => leader || "none",
    by: ({ leader }) => leader,
  },
  longColumn("servers", "Servers", ({ servers }) => servers.join(", "), { wide: true, unsorted: true }),
];

/** The streams of the bus, and which servers store each. */
export function Streams({ streams, keys }: { streams: readonly JudgedStream[]; keys: App["keys"] }) {
  return (
    <section class="stack" aria-labelledby="streams-head">
      <h2 id="streams-head">What the bus stores</h2>
      <Table label="Streams" rows={streams} rowKey={({ stream }) => stream} keys={keys} columns={columns} />
    </section>
  );
}
