import { SvcError } from "../../base/errors.ts";
import { displayPeelId, peelIdFromConfig } from "../../base/peel-id.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import { type DirectSigner, type RevokeOperationDeps, writeRevocation } from "../../fleet/enrollment/mod.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { type Cli, command, readFlag } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { runDirectly } from "../direct.ts";
import { credsArg, directArg, directSigner, idArg, openForDecisions, withBusFor } from "./ask.ts";

export const revokeCommand = command({
  name: "revoke",
  description:
    "Revoke an enrollment, by its id, or by the name or key of the peel. The peel is disconnected, and its credentials become invalid.",
  args: {
    id: { ...idArg, required: false, ids: "revocable-enrollments" },
    peel: {
      type: "string",
      valueHint: "peel id",
      description: "Revoke this peel, also when no enrollment has its key",
    },
    key: {
      type: "string",
      valueHint: "U…",
      description: "Revoke this key of the bus, also when no enrollment has it",
    },
    reason: { type: "string", valueHint: "text", description: "Reason, stored in the record" },
    wait: { type: "boolean", description: "Wait until the peel is disconnected, and show how long it took" },
    "direct-kv": directArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { revoke } = enrollmentsOverBus;
      const { id, peel, key } = args;
      if ([id, peel, key].filter((one) => one !== undefined).length !== 1) {
        throw new SvcError("usage", "name one of: the id of an enrollment, --peel, --key");
      }
      const isDirect = args["direct-kv"] === true;
      if (id === undefined) {
        if (isDirect || args.wait === true) {
          throw new SvcError("usage", "--direct-kv and --wait are only for the id of an enrollment");
        }
        return revokeUser(bus, cli, { peel, key, reason: args.reason });
      }
      const input = { id, reason: args.reason };
      const signer = isDirect ? directSigner(cli) : undefined;
      const { enrollment, closed_in_ms } = isDirect
        ? await runDirectly(revoke.operation, await storageOf(bus, cli, signer), input, cli, signer)
        : await ask(bus, revoke, input);
      const line = `revoked ${enrollment.id} (${displayPeelId(enrollment.peel_id)})`;
      if (isDirect || args.wait !== true) {
        await cli.print(enrollment, () => line);
        if (isDirect) cli.say("written to storage: the connection is closed as soon as a master runs");
        return;
      }
      const closed =
        closed_in_ms === undefined
          ? "it had no live connection"
          : `connection closed after ${closed_in_ms.toFixed(1)} ms`;
      await cli.print({ ...enrollment, closed_in_ms }, () => `${line}: ${closed}`);
    }),
});

/** Revokes by the name or key of a peel. */
async function revokeUser(
  bus: Bus,
  cli: Cli,
  { peel, ...rest }: { peel: string | undefined; key: string | undefined; reason: string | undefined },
): Promise<void> {
  const input = {
    ...rest,
    peel: peel === undefined ? undefined : readFlag("--peel", peel, peelIdFromConfig),
  };
  const { revoked } = await ask(bus, enrollmentsOverBus.revokeUser, input);
  await cli.print(revoked, () =>
    revoked
      .map(({ peel_id, enrollment_id, bus_public_key }) => {
        const what = enrollment_id ?? bus_public_key ?? "";
        return `revoked ${what}${peel_id === "" ? "" : ` (${displayPeelId(peel_id)})`}`;
      })
      .join("\n"),
  );
}

/** What is written to without a master. */
async function storageOf(
  bus: Bus,
  { clock }: Pick<Cli, "clock">,
  signer: DirectSigner | undefined,
): Promise<RevokeOperationDeps> {
  const revocations = await openBucket(bus, "revocations");
  return {
    enrollments: await openForDecisions(bus, signer),
    revocations: { add: (entry) => writeRevocation(revocations, entry) },
    clock,
  };
}
