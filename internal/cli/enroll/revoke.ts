import { SvcError } from "../../base/errors.ts";
import { displayPeelId, peelIdFromConfig } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { openBucket } from "../../bus/storage/mod.ts";
import { enrollmentOperations, type RevokeOperationDeps } from "../../fleet/enrollment/mod.ts";
import { writeRevocation } from "../../fleet/enrollment/revocation/mod.ts";
import type { DirectSigner } from "../../fleet/enrollment/store/mod.ts";
import { type Cli, command, flag, readFlag, value, visible } from "../../program/command-line/mod.ts";
import { confirm } from "../confirm/confirm.ts";
import { ofMembers } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { assertPublicKey } from "../public-key.ts";
import { request } from "../request.ts";
import { credsArg, directArg, idArg, openForDecisions, withBusToDecide } from "./connect.ts";
import { type Decided, decide, moreArg, namedIds } from "./decide.ts";
import { doorOf } from "./door.ts";
import { readSelection, selectionArgs } from "./select.ts";

const { revokeEnrollment: revoke } = enrollmentOperations;

export const revokeCommand = command({
  name: "revoke",
  description:
    "Revoke enrollments: those that you name, or that the options select; or by the name or key of a peel. The peels are disconnected, and their credentials become invalid.",
  examples: [
    "svc enroll revoke --peel web-1.example.com --reason stolen --wait",
    "svc enroll revoke --match 'lab-*'",
  ],
  args: {
    id: { ...idArg, required: false, ids: "revocable-enrollments" },
    more: moreArg,
    ...selectionArgs,
    peel: value("peel id", "Revoke this peel, also when no enrollment has its key"),
    key: value("U…", "Revoke this key of the bus, also when no enrollment has it"),
    reason: value("text", "Reason, stored in the record"),
    wait: flag("Wait until the peel is disconnected, and show how long it took"),
    "direct-kv": directArg,
    creds: credsArg,
  },
  run(args, cli) {
    const { id, reason } = args;
    const peel = args.peel === undefined ? undefined : readFlag("--peel", args.peel, peelIdFromConfig);
    const key = args.key === undefined ? undefined : readFlag("--key", args.key, assertPublicKey);
    return withBusToDecide(cli, args, async (bus) => {
      const isDirect = args["direct-kv"] === true;
      const ways = [namedIds(args).length > 0 || readSelection(args) !== undefined, peel, key];
      if (ways.filter((one) => one !== undefined && one !== false).length !== 1) {
        throw new SvcError(
          "usage",
          "name one of: ids of enrollments or a selection (--match, --address, --evidence, --all), --peel, --key",
        );
      }
      if (peel !== undefined || key !== undefined) {
        if (isDirect || args.wait === true) {
          throw new SvcError("usage", "--direct-kv and --wait are only for the id of an enrollment");
        }
        await confirm(cli, `Revoke ${peel === undefined ? key : displayPeelId(peel)}`, args.yes === true);
        return revokeUser(bus, cli, { peel, key, reason });
      }
      const revokeOne = await doorOf(
        bus,
        cli,
        revoke,
        isDirect ? (signer) => storageOf(bus, cli, signer) : undefined,
      );
      if (args.wait === true && !isDirect) {
        if (id === undefined || namedIds(args).length > 1 || readSelection(args) !== undefined) {
          throw new SvcError("usage", "--wait is only for one enrollment, named by its id");
        }
        const whole = await enrollmentId(id, bus, cli, { wanted: ofMembers });
        await confirm(cli, `Revoke ${visible(id)}`, args.yes === true);
        const { enrollment = { id: whole, peel_id: "" }, ...rest } = await revokeOne({ id: whole, reason });
        return printClosed({ enrollment, ...rest }, cli);
      }
      await decide(args, bus, cli, {
        ...{ verb: "revoke", done: "revoked" },
        states: ["approved", "issued", "active"],
        leavesOut: new Set(["TAMPERED"]),
        decide: async (one) => (await revokeOne({ id: one, reason })).enrollment,
      });
      if (isDirect) cli.say("written to storage: connections are closed as soon as a master runs");
    });
  },
});

/** Tells how long the peel stayed connected. */
async function printClosed(
  { enrollment, closed_in_ms }: { enrollment: Decided; closed_in_ms?: number },
  cli: Cli,
): Promise<void> {
  const closed =
    closed_in_ms === undefined
      ? "it had no live connection"
      : `connection closed after ${closed_in_ms.toFixed(1)} ms`;
  const line = `revoked ${enrollment.id} (${displayPeelId(enrollment.peel_id)})`;
  await cli.print({ ...enrollment, closed_in_ms }, () => `${line}: ${closed}`);
}

/** Revokes by the name or key of a peel. */
async function revokeUser(
  bus: Bus,
  cli: Cli,
  input: { peel: string | undefined; key: string | undefined; reason: string | undefined },
): Promise<void> {
  const { revoked } = await request(bus, enrollmentOperations.revokeUserOfBus, input);
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
