import { displayPeelId } from "../../base/peel-id.ts";
import { type Enrollment, loadEnrollment, toStored, trustOf } from "../../fleet/enrollment/mod.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { idArg, openEnrollments } from "./ask.ts";

export const showCommand = command({
  name: "show",
  description: "Show the full record of an enrollment.",
  args: { id: idArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const { record } = await loadEnrollment(await openEnrollments(bus), args.id);
      await cli.print(toStored(record), () => formatRecord(record));
    }),
});

/** A record for people: the stored fields in their order, the peel id dotted. */
function formatRecord(record: Enrollment): string {
  const fields = Object.entries(toStored(record)).map(
    ([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)] as const,
  );
  return formatFields([
    ...fields.map(([name, value]) => [name, name === "peel_id" ? displayPeelId(value) : value] as const),
    ["trust", trustOf(record)],
    ["fingerprint", keyFingerprint(record.publicKey)],
  ]);
}
