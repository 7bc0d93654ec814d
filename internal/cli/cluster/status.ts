import { sizeText } from "../../base/byte-size.ts";
import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { command, Exit, formatFields, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

/** What masters answer about the cluster. */
export type Status = AnswerTo<typeof clusterOperations.showCluster>;

/** A master asks every server twice. */
const timeoutMs = 10_000;

export const statusCommand = command({
  name: "status",
  description:
    "Show the servers of the bus, and where each stream is stored. The exit code is 1 when something needs attention.",
  examples: ["svc cluster status"],
  lists: true,
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const status = await request(bus, clusterOperations.showCluster, {}, { timeoutMs });
      await cli.print(status, () => formatStatus(status, cli));
      for (const problem of status.problems) cli.say(problem);
      if (status.problems.length > 0) throw new Exit(1);
    }),
});

/** The status for people. */
export function formatStatus(status: Status, style: TableStyle): string {
  const { clustered, leader, members, streams, sites = [], wanted_replicas: wanted } = status;
  const lagOf = (behind: Status["streams"][number]["behind"]) =>
    behind.map(({ server, lag }) => `${server} lacks ${lag}`).join(", ") || "-";
  return [
    formatFields([
      ["cluster", clustered ? `${members.length} servers` : "none: the bus is one server"],
      ...(clustered ? [["leader", leader === "" ? "none" : leader] as const] : []),
      ["replicas", `${wanted} of each stream`],
    ]),
    formatTable(
      {
        SERVER: "name",
        VERSION: "word",
        STATE: "state",
        LEADS: "word",
        STORES: "word",
        LAG: "word",
        DISK: "wide",
      },
      members.map((one) => [
        ...[one.server, one.version === "" ? "-" : one.version, one.state],
        ...[one.leads, one.stores, one.lag].map(String),
        one.stored_bytes === undefined || one.max_bytes === undefined
          ? "-"
          : `${sizeText(one.stored_bytes)} of ${sizeText(one.max_bytes)}`,
      ]),
      style,
    ),
    formatTable(
      { STREAM: "name", LEADER: "text", SIZE: "wide", REPLICAS: "word", SERVERS: "prose", BEHIND: "prose" },
      streams.map((one) => [
        ...[
          one.stream,
          one.leader === "" ? "none" : one.leader,
          one.bytes === undefined ? "-" : sizeText(one.bytes),
          String(one.replicas),
        ],
        ...[one.servers.join(", "), lagOf(one.behind)],
      ]),
      style,
    ),
    ...(sites.length === 0
      ? []
      : [
          formatTable(
            {
              ...{ SITE: "name", STATE: "state", PEELS: "word", LINK: "text", TRIP: "word" },
              ...{ CERTIFICATE: "text", URLS: "prose" },
            },
            sites.map((one) => [
              ...[one.site, one.state, String(one.peels), one.server ?? "-"],
              one.round_trip_ms === undefined ? "-" : `${Math.round(one.round_trip_ms)}ms`,
              one.certificate_ends === undefined ? "by hand" : `until ${one.certificate_ends.slice(0, 10)}`,
              one.urls.join(", "),
            ]),
            style,
          ),
        ]),
  ].join("\n\n");
}
