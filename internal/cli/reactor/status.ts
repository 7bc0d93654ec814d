import { type ReactorStatus, reactorOperations } from "../../fleet/reactor/mod.ts";
import { command, formatFields, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { sayProblem } from "./say-problem.ts";

export const statusCommand = command({
  name: "status",
  description: "Show which master runs the reactor, its progress, and open circuit breakers.",
  examples: ["svc reactor status"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const status = await request(bus, reactorOperations.showReactor, {});
      await cli.print(status, () => formatStatus(status, cli));
      sayProblem(cli, status);
    }),
});

/** The reactor for people: its progress, and a table of what it reads. */
export function formatStatus(status: ReactorStatus, style: TableStyle): string {
  const { breakers, sources } = status;
  return [
    formatFields([
      ["master", status.master],
      ["since", status.since],
      [
        "rules",
        `${status.rules} in ${status.files} ${status.files === 1 ? "file" : "files"} of ${status.directory}`,
      ],
      ["digest", status.digest.slice(0, 16)],
      ["open breakers", breakers.length === 0 ? "none" : `${breakers.length}`],
    ]),
    formatTable(
      { SOURCE: "text", RUNNING: "word", WAITING: "word", "IN PROGRESS": "word" },
      sources.map((one) => [one.name, one.running ? "yes" : "no", `${one.waiting}`, `${one.in_hand}`]),
      style,
    ),
    ...(breakers.length === 0
      ? []
      : [
          formatTable(
            { BREAKER: "text", OPENED: "ago", "OPEN UNTIL": "until" },
            breakers.map(({ rule, opened_at, open_until }) => [rule, opened_at, open_until]),
            style,
          ),
        ]),
  ].join("\n\n");
}
