import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { openBucket } from "../../bus/storage/mod.ts";
import {
  type DirectSigner,
  directVouchers,
  type Enrollments,
  signingVouchers,
} from "../../fleet/enrollment/store/mod.ts";
import { type Cli, flag, value, word } from "../../program/command-line/mod.ts";
import { directCredentials } from "../direct-credentials.ts";
import { operatorFiles, ownOperatorFile, withBus } from "../operator.ts";

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

export const idArg = word("Enrollment id, enr-…", { required: true, ids: "enrollments" });

/** Opens the bucket of the records, for what is read without a master. */
export function openEnrollments(bus: Bus): Promise<Enrollments> {
  return openBucket(bus, "enrollments");
}

/**
 * The operator who signs direct decisions: that of the configured operator file.
 *
 * @returns `undefined` without one: masters with `operators.require_signed` take over none of its decisions
 * @throws SvcError `bad_request` for a file without a key
 */
export function directSigner(cli: Cli): DirectSigner | undefined {
  if (operatorFiles(cli).operatorFile !== "") return ownOperatorFile(cli);
  cli.say(
    "not signed: masters with operators.require_signed take over only what an operator with role admin signed; install your operator file with svc login FILE",
  );
  return undefined;
}

/** Opens the bucket of the records for decisions that masters take over later. */
export async function openForDecisions(bus: Bus, signer: DirectSigner | undefined): Promise<Enrollments> {
  const vouchers = signer === undefined ? directVouchers : signingVouchers(signer);
  return { ...(await openEnrollments(bus)), vouchers };
}
