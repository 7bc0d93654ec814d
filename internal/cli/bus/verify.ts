import { displayPeelId } from "../../base/names/peel-id.ts";
import { malformedAdvice } from "../../fleet/decisions/mod.ts";
import { masterOperations } from "../../fleet/masters/mod.ts";
import { command, Exit, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { compareWithMasters } from "./compare.ts";

/** Maximum number of listed differences. `--output json` lists all. */
const maxNamed = 20;

const isMalformed = ({ problem }: { problem: string }) => problem === "malformed";

export const verifyCommand = command({
  name: "verify",
  description: "Compare the enrollments and revocations on the bus with the logs of all masters.",
  examples: ["svc bus verify"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const results = await compareWithMasters(bus);
      await cli.print({ masters: results }, () => formatComparison(results, cli));
      if (results.length === 0) {
        const { problem } = await request(bus, masterOperations.probeStorage, {});
        cli.say(
          problem === undefined
            ? "no master is running: start svc-master, which has the log"
            : `masters cannot store their heartbeats: ${problem}`,
        );
      }
      for (const one of results) {
        const problem = "error" in one ? one.error : one.problem;
        if (problem !== undefined) cli.say(`${one.master}: ${problem}`);
      }
      if (results.some((one) => !("error" in one) && one.differences.some(isMalformed))) {
        cli.say(`malformed: nothing can read it; ${malformedAdvice}`);
      }
      const isEqual = results.every(
        (one) => !("error" in one) && one.differing === 0 && one.problem === undefined,
      );
      if (results.length === 0 || !isEqual) throw new Exit(1);
    }),
});

/** What each master has logged, what is stored, and where they differ. */
export function formatComparison(
  results: Awaited<ReturnType<typeof compareWithMasters>>,
  style: TableStyle,
): string {
  const differences = results.flatMap((one) =>
    "error" in one ? [] : one.differences.map((difference) => ({ master: one.master, ...difference })),
  );
  const counts = formatTable(
    { MASTER: "text", LOGGED: "word", "ON THE BUS": "word", DIFFERENT: "word" },
    results.map((one) => [
      one.master,
      ...("error" in one ? ["-", "-", "-"] : [one.logged, one.stored, one.differing].map(String)),
    ]),
    style,
  );
  if (differences.length === 0) return counts;
  const named = formatTable(
    { MASTER: "text", RECORD: "id", "PEEL ID": "text", PROBLEM: "prose" },
    differences
      .slice(0, maxNamed)
      .map((one) => [one.master, one.key, displayPeelId(one.peel_id), one.problem]),
    style,
  );
  return `${counts}\n\n${named}`;
}
