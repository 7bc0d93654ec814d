import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { command, Exit, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

/** A master looks four times, and then reads a sample of each stream from each server. */
const timeoutMs = 120_000;

export const checkCommand = command({
  name: "check",
  description:
    "Compare what the servers of the bus store of each stream. The exit code is 1 when a replica differs.",
  examples: ["svc cluster check"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const checked = await request(bus, clusterOperations.checkCluster, {}, { timeoutMs });
      const { streams, sampled, differences } = checked;
      await cli.print(checked, () =>
        differences.length === 0
          ? `${streams} replicated streams are equal; samples of ${sampled} were compared`
          : formatDifferences(differences, cli),
      );
      if (differences.length === 0) return;
      cli.say(
        differences.some(({ unclear }) => unclear === true)
          ? "which server is wrong is not clear: rebuild none yet, and check again in a minute"
          : "rebuild the replicas that differ: stop that server, move its jetstream directory away, and start it",
      );
      throw new Exit(1);
    }),
});

/** Where the replicas of streams differ. */
export function formatDifferences(
  differences: AnswerTo<typeof clusterOperations.checkCluster>["differences"],
  style: TableStyle,
): string {
  return formatTable(
    { STREAM: "name", SERVER: "text", PROBLEM: "prose" },
    differences.map(({ stream, server, message }) => [stream, server, message]),
    style,
  );
}
