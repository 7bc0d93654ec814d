import { displayPeelId } from "../../base/names/peel-id.ts";
import { type Cli, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
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
  await cli.print(shown, () => formatPreview(shown, cli));
  const connected = peels.filter(({ alive }) => alive).length;
  cli.say(`${peelCount(peels.length)}, ${connected} connected; nothing was run`);
}

/** The peels that a job would run on, with their batches where there are any. */
export function formatPreview(
  peels: readonly (ResolvedPeel & { batch?: string })[],
  style: TableStyle,
): string {
  const hasBatches = peels.some(({ batch }) => batch !== undefined);
  return formatTable(
    { "PEEL ID": "text", CONNECTED: "word", ...(hasBatches && { BATCH: "word" }) },
    peels.map((peel) => [
      displayPeelId(peel.peel_id),
      peel.alive ? "yes" : "no",
      ...(peel.batch === undefined ? [] : [peel.batch]),
    ]),
    style,
  );
}
