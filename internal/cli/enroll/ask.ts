import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import { directVouchers, type Enrollments } from "../../fleet/enrollment/mod.ts";
import { operatorCredsFile, withBus } from "../operator.ts";

/** The argument that every changing command of the group takes. */
export const directArg = {
  type: "boolean",
  description: "Write to storage directly, with direct.creds, for use when no master runs",
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
  const sibling = join(dirname(operatorCredsFile(cli)), "direct.creds");
  const file = args.creds ?? (existsSync(sibling) ? sibling : undefined);
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

/** Opens the bucket of the records for decisions that masters take over later. */
export async function openForDecisions(bus: Bus): Promise<Enrollments> {
  return { ...(await openEnrollments(bus)), vouchers: directVouchers };
}
