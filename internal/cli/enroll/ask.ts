import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import {
  type DirectSigner,
  directVouchers,
  type Enrollments,
  signingVouchers,
} from "../../fleet/enrollment/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { operatorFiles, ownOperatorFile, withBus } from "../operator.ts";

/** The argument that every changing command of the group takes. */
export const directArg = {
  type: "boolean",
  description: "Write to storage directly, with direct.creds, for use when no master runs",
} as const;

/** The same, for a command that always reads from storage, where the option of the group is accepted too. */
export const directReadArg = {
  type: "boolean",
  description: "Accepted for symmetry: this command always reads storage directly",
} as const;

export const credsArg = {
  type: "string",
  valueHint: "file",
  description: "Credentials for --direct-kv (default: direct.creds next to master.creds_file)",
} as const;

/**
 * Connects to the bus for a decision: as the operator, or with the credentials that may write it to storage.
 * A fleet of an earlier version has no such file, and the operator's own may write there.
 */
export async function withBusFor<T>(
  cli: Parameters<typeof withBus>[0],
  args: { "direct-kv"?: boolean | undefined; creds?: string | undefined },
  use: (bus: Bus) => Promise<T>,
): Promise<T> {
  if (args["direct-kv"] !== true) {
    if (args.creds === undefined) return withBus(cli, use);
    throw new SvcError("usage", "--creds is for --direct-kv");
  }
  const file = args.creds ?? directFiles(cli).find(existsSync);
  if (file !== undefined) return withBus(cli, use, { credsFile: file });
  try {
    return await withBus(cli, use);
  } catch (cause) {
    if (!(cause instanceof SvcError) || (cause.kind !== "forbidden" && cause.kind !== "storage")) throw cause;
    throw new SvcError(
      cause.kind,
      `${cause.message}: --direct-kv needs direct.creds next to master.creds_file, or --creds FILE; make it with svc nats-auth credentials --role direct`,
      { cause },
    );
  }
}

/** Where the credentials for decisions without a master may be: next to those of the operator, or as svc init has it. */
function directFiles(cli: Parameters<typeof withBus>[0]): string[] {
  const { credsFile, operatorFile } = operatorFiles(cli);
  return [
    ...(credsFile === "" ? [] : [join(dirname(credsFile), "direct.creds")]),
    ...(operatorFile === "" ? [] : [join(dirname(operatorFile), "..", "auth", "direct.creds")]),
  ];
}

export const idArg = {
  type: "positional",
  required: true,
  description: "Enrollment id, enr-…",
  ids: "enrollments",
} as const;

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
