import { displayPeelId } from "../../base/peel-id.ts";
import { command, Exit, formatTable } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { storageProblem } from "../storage-problem.ts";
import { compareWithMasters } from "./compare.ts";

/** Maximum number of listed differences. `--output json` lists all. */
const mostNamed = 20;

export const verifyCommand = command({
  name: "verify",
  description: "Compare the enrollments and revocations on the bus with the logs of all masters.",
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const results = await compareWithMasters(bus);
      const differences = results.flatMap((one) =>
        "error" in one ? [] : one.differences.map((difference) => ({ master: one.master, ...difference })),
      );
      await cli.print({ masters: results }, () =>
        [
          formatTable(
            ["MASTER", "LOGGED", "ON THE BUS", "DIFFERENT"],
            results.map((one) => [
              one.master,
              ...("error" in one ? ["-", "-", "-"] : [one.logged, one.stored, one.differing].map(String)),
            ]),
            cli,
          ),
          ...(differences.length === 0
            ? []
            : [
                formatTable(
                  ["MASTER", "RECORD", "PEEL ID", "PROBLEM"],
                  differences
                    .slice(0, mostNamed)
                    .map((one) => [one.master, one.key, displayPeelId(one.peel_id), one.problem]),
                  cli,
                ),
              ]),
        ].join("\n\n"),
      );
      if (results.length === 0) {
        const problem = await storageProblem(bus);
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
      const isEqual = results.every(
        (one) => !("error" in one) && one.differing === 0 && one.problem === undefined,
      );
      if (results.length === 0 || !isEqual) throw new Exit(1);
    }),
});
