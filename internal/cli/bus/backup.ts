import { resolve } from "node:path";
import { inspectAssets } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { backUpBus, openBucket } from "../../bus/storage/mod.ts";
import { judgeWithoutKeys, newestOf, readContents, showNewest } from "../../fleet/decisions/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { credsArg } from "./args.ts";
import { formatBackup } from "./format.ts";

export const backupCommand = command({
  name: "backup",
  description: "Back up all data on the bus to a new directory.",
  examples: ["svc bus backup ./backup-2026-11-24 --creds master.creds"],
  args: { dir: word("New directory", { required: true }), creds: credsArg },
  run: ({ dir, creds }, cli) =>
    withBus(
      cli,
      async (bus) => {
        const streams = await backUpBus(bus, resolve(dir), () => readNewest(bus));
        await cli.print(streams, () => formatBackup(streams, cli));
      },
      { credsFile: creds },
    ),
});

/** The newest decision on the bus; what is decided after that may be missing in the backup. */
async function readNewest(bus: Bus): Promise<Record<string, unknown> | undefined> {
  const states = await inspectAssets(bus, ["enrollments", "revocations"]);
  if ([...states.values()].some((state) => state !== "there")) return undefined;
  const contents = await readContents({
    enrollments: await openBucket(bus, "enrollments"),
    revocations: await openBucket(bus, "revocations"),
  });
  const values = (["enrollments", "revocations"] as const).flatMap((bucket) =>
    contents[bucket].map(({ key, value }) => ({ bucket, key, value })),
  );
  const newest = newestOf(values, judgeWithoutKeys(bus.clock.now()));
  return newest === undefined ? undefined : showNewest(newest);
}
