import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { command, Exit, flag, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

/** A master asks the bus about each stream. */
const timeoutMs = 20_000;

export const lintCommand = command({
  name: "lint",
  description:
    "Compare the streams and consumers of the masters with what they should be, and name consumers that no master made. The exit code is 1 when there is something.",
  examples: ["svc bus lint", "svc bus lint --remove-foreign"],
  args: {
    "remove-foreign": flag("Remove the consumers that no master made"),
  },
  run: ({ "remove-foreign": removes }, cli) =>
    withBus(cli, async (bus) => {
      if (removes === true) {
        const { removed } = await request(bus, clusterOperations.removeForeign, {}, { timeoutMs });
        await cli.print({ removed }, () =>
          removed.length === 0 ? "no foreign consumers" : `removed:\n${formatForeign(removed, cli)}`,
        );
        return;
      }
      const found = await request(bus, clusterOperations.lintBus, {}, { timeoutMs });
      await cli.print(found, () => formatLint(found, cli));
      if (found.changed.length > 0) cli.say("a master repairs what was changed within a minute");
      if (found.foreign.length > 0) {
        cli.say("find out who made them, and remove them with svc bus lint --remove-foreign");
      }
      if (found.changed.length + found.foreign.length > 0) throw new Exit(1);
    }),
});

/**
 * What differs, and what is foreign.
 * @internal exported for the test of all tables
 */
export function formatLint(found: AnswerTo<typeof clusterOperations.lintBus>, style: TableStyle): string {
  const { changed, foreign } = found;
  const parts = [
    ...(changed.length === 0
      ? []
      : [
          formatTable(
            { STREAM: "name", CONSUMER: "name", CHANGED: "prose" },
            changed.map(({ stream, consumer = "-", fields }) => [
              stream,
              consumer,
              fields.length === 0 ? "it is missing" : fields.join(", "),
            ]),
            style,
          ),
        ]),
    ...(foreign.length === 0 ? [] : [formatForeign(foreign, style)]),
  ];
  return parts.length === 0 ? "the streams and consumers are as they should be" : parts.join("\n\n");
}

function formatForeign(
  consumers: AnswerTo<typeof clusterOperations.lintBus>["foreign"],
  style: TableStyle,
): string {
  return formatTable(
    { STREAM: "name", CONSUMER: "name", "DELIVERS TO": "text", CREATED: "ago" },
    consumers.map(({ stream, name, delivers_to: to = "-", created }) => [stream, name, to, created]),
    style,
  );
}
