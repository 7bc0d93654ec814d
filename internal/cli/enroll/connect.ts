import { rfc3339 } from "../../base/clock.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { openBucket } from "../../bus/storage/mod.ts";
import {
  type DirectSigner,
  directVouchers,
  type Enrollments,
  signingVouchers,
} from "../../fleet/enrollment/store/mod.ts";
import { type Cli, flag, value, word } from "../../program/command-line/mod.ts";
import { decodeOperator, lastRecordKey, type SignedOperatorRecord } from "../../wire/operator-record.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import { directCredentials } from "../direct-credentials.ts";
import { operatorFiles, ownOperatorFile, withBus } from "../operator.ts";
import { readSelection, type SelectionWords } from "./select.ts";

/** The argument that every changing command of the group takes. */
export const directArg = flag("Write to storage directly, with direct.creds, for use when no master runs");

/** The same, for a command that only reads. */
export const directReadArg = flag("Read storage directly, with direct.creds, for use when no master runs");

export const credsArg = value(
  "file",
  "Credentials for --direct-kv (default: direct.creds next to master.creds_file)",
);

/** Connects to the bus for a decision: as the operator, or with the credentials that may write it to storage. */
export async function withBusFor<T>(
  cli: Parameters<typeof withBus>[0],
  args: { "direct-kv"?: boolean | undefined; creds?: string | undefined },
  use: (bus: Bus) => Promise<T>,
): Promise<T> {
  if (args["direct-kv"] === true) return withBus(cli, use, directCredentials(cli, args.creds));
  if (args.creds === undefined) return withBus(cli, use);
  throw new SvcError("usage", "--creds is for --direct-kv");
}

/** The same for a decision on several. What the options hold is read first: a mistake needs no bus. */
export function withBusToDecide(
  cli: Parameters<typeof withBus>[0],
  args: Parameters<typeof withBusFor>[1] & SelectionWords,
  use: (bus: Bus) => Promise<void>,
): Promise<void> {
  readSelection(args);
  return withBusFor(cli, args, use);
}

export const idArg = word("Enrollment: its id enr-…, the id of its peel, or the name of its host", {
  required: true,
  ids: "enrollments",
});

/** Opens the bucket of the records, for what is read without a master. */
export function openEnrollments(bus: Bus): Promise<Enrollments> {
  return openBucket(bus, "enrollments");
}

/**
 * The operator who signs direct decisions: that of the configured operator file.
 *
 * @returns `undefined` without one: masters with `operators.require_signed` take over none of its decisions
 * @throws SvcError `bad_request` for a file without a key; `forbidden` for an operator whose decisions no master takes
 *   over: what is written would make the enrollment count as tampered with
 */
export async function directSigner(bus: Bus, cli: Cli): Promise<DirectSigner | undefined> {
  if (operatorFiles(cli).operatorFile !== "") {
    const signer = ownOperatorFile(cli);
    await assertTakenOver(bus, signer, cli.clock.now());
    return signer;
  }
  cli.say(
    "not signed: masters with operators.require_signed take over only what an operator with role admin signed; install your operator file with svc login FILE",
  );
  return undefined;
}

async function assertTakenOver(bus: Bus, signer: DirectSigner, now: number): Promise<void> {
  const bucket = await openBucket(bus, "operators");
  const read = async (key: string) => {
    // Earlier direct.creds do not read it; what follows says whether the bus works.
    const stored = await bucket.get(key).catch(() => undefined);
    return stored && attempt(() => decodeOperator(stored.value));
  };
  const { name, key } = signer;
  const record = await read(name);
  const last =
    record === undefined ? await read(lastRecordKey({ name, publicKey: key.publicKey })) : undefined;
  const why = whyIgnored(record, signer, now) ?? (last === undefined ? undefined : "was removed");
  if (why === undefined) return;
  throw new SvcError(
    "forbidden",
    `${name} ${why}, and masters take over only what an operator with role admin signed: nothing was written; ask one, or start a master`,
  );
}

/** An administrator of the file has no record unless another one disabled it. */
function whyIgnored(
  record: SignedOperatorRecord | undefined,
  { key: { publicKey } }: DirectSigner,
  now: number,
): string | undefined {
  if (record === undefined) return undefined;
  const { roles, disabled, expiresAt = Number.POSITIVE_INFINITY } = record;
  if (disabled === true) return "is disabled";
  if (!roles.includes(adminRole)) return `has the roles ${roles.join(", ")}`;
  if (record.publicKey !== publicKey) return "has another key now";
  return expiresAt <= now ? `ended at ${rfc3339(expiresAt)}` : undefined;
}

/** Opens the bucket of the records for decisions that masters take over later. */
export async function openForDecisions(bus: Bus, signer: DirectSigner | undefined): Promise<Enrollments> {
  const vouchers = signer === undefined ? directVouchers : signingVouchers(signer);
  return { ...(await openEnrollments(bus)), vouchers };
}
