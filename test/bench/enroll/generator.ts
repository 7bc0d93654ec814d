import { systemClock } from "../../../internal/base/clock.ts";
import { freshAddress } from "../../harness/client.ts";
import { answerCommands } from "../../harness/worker.ts";
import { type Applicant, approveAs, type BenchToken, createApplicant, pinOf } from "./applicant.ts";
import { type Connection, openConnection, type Target } from "./connection.ts";

// The load generator, a process of its own: it drives enrollments through a master, or the same
// requests through the floor.

/** One batch of enrollments to drive. */
export interface Batch {
  target: Target;
  /** A second master, which gets every other host. */
  other?: Target;
  /** The bearer token of the operator who approves. */
  token: string;
  /** Hosts join with this token, and nobody approves them. */
  join?: BenchToken;
  /** Enrollments in this batch. */
  count: number;
  /** Number of concurrent enrollments. */
  concurrency: number;
  /** Prefix of every peel id of the batch. */
  prefix: string;
}

/** An operator's address has 120 requests at once; a new connection before they are used up. */
const approvalsPerAddress = 100;

/** Drives one batch. Keys are made before the time is taken. @returns wall milliseconds */
async function drive(batch: Batch): Promise<{ wallMs: number }> {
  const { target, count, concurrency, prefix } = batch;
  const pin = pinOf(target.ca);
  const applicants = Array.from({ length: count }, (_, at) => createApplicant(`${prefix}-${at}`, pin));
  const started = systemClock.monotonic();
  await Promise.all(
    Array.from({ length: Math.min(concurrency, count) }, (_, at) =>
      batch.join === undefined
        ? work(applicants, batch)
        : join(applicants, batch, at % 2 === 1 ? (batch.other ?? target) : target),
    ),
  );
  return { wallMs: systemClock.monotonic() - started };
}

/** The same with a token. */
async function join(applicants: Applicant[], batch: Batch, target: Target): Promise<void> {
  for (let applicant = applicants.pop(); applicant !== undefined; applicant = applicants.pop()) {
    const connection = await openConnection(target, freshAddress());
    const id = await applicant.submit(connection, batch.join);
    await applicant.download(connection, id);
    connection.close();
  }
}

/** Enrolls one applicant after the other until none is left. */
async function work(applicants: Applicant[], { target, token }: Batch): Promise<void> {
  let operator: Connection | undefined;
  let approvals = 0;
  for (let applicant = applicants.pop(); applicant !== undefined; applicant = applicants.pop()) {
    const connection = await openConnection(target, freshAddress());
    const id = await applicant.submit(connection);
    if (operator === undefined || approvals === approvalsPerAddress) {
      operator?.close();
      operator = await openConnection(target, freshAddress());
      approvals = 0;
    }
    approvals++;
    await approveAs(operator, token, id);
    await applicant.download(connection, id);
    connection.close();
  }
  operator?.close();
}

answerCommands(drive);
