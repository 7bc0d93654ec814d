import { displayPeelId } from "../../base/peel-id.ts";
import { type Cli, formatTable } from "../../program/command-line/mod.ts";
import { type BatchSize, batchesOf } from "./batch.ts";
import { peelCount } from "./counts.ts";
import type { ResolvedPeel } from "./resolve.ts";

/** Prints the peels that a job would run on, their batches, and whether each is connected now. */
export async function printPreview(
  peels: readonly ResolvedPeel[],
  batch: BatchSize | undefined,
  cli: Cli,
): Promise<void> {
  const batches = batchesOf(peels, batch ?? { percent: 100 });
  const shown = batches.flatMap((members, i) =>
    members.map((peel) => ({
      ...peel,
      ...(batch === undefined ? {} : { batch: `${i + 1}/${batches.length}` }),
    })),
  );
  await cli.print(shown, () =>
    formatTable(
      ["PEEL ID", "CONNECTED", ...(batch === undefined ? [] : ["BATCH"])],
      shown.map((peel) => [
        displayPeelId(peel.peel_id),
        peel.alive ? "yes" : "no",
        ...(peel.batch === undefined ? [] : [peel.batch]),
      ]),
      cli,
    ),
  );
  const connected = peels.filter(({ alive }) => alive).length;
  cli.say(`${peelCount(peels.length)}, ${connected} connected; nothing was run`);
}
