import { SvcError } from "../../base/errors.ts";
import { isId, timeOfId } from "../../base/id.ts";
import { decode, type Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Cli, visible } from "../../program/command-line/mod.ts";
import { isSignedFor, openRequest } from "../../wire/signed-request.ts";
import { confirm as confirmPerson } from "../confirm/confirm.ts";
import { fullId } from "../ids/full-id.ts";
import { peelCount } from "./counts.ts";
import { hasFailed } from "./failed.ts";
import { type FollowedJob, followJob } from "./follow-job.ts";
import { resolvePeels } from "./resolve.ts";
import type { Work } from "./work.ts";

/** Characters of the arguments that are shown before a question. */
const maxShown = 2_000;
/** An id has the time in seconds. */
const second = 1_000;

/**
 * Reads what a job did, to do it again on those of its peels where it did not end well.
 *
 * An attacker who controls the bus can write another function into a record, and what is signed here counts on the peels. So
 * what someone else asked for, or nobody signed, is shown before it is signed.
 *
 * @param named the id of the job, or its beginning
 * @param options.isConfirmed whether the person has agreed already
 * @throws SvcError `not_found`; `conflict` when the job has nothing to run again; `usage` when no one can confirm
 * @throws Exit 1 when the person does not want it
 */
export async function readAgain(
  bus: Bus,
  named: string,
  cli: Cli,
  options: { timeout?: string | undefined; isConfirmed: boolean },
): Promise<Work> {
  const jid = await fullId("job", named, bus, cli);
  // The answers do not matter here.
  const job = await followJob(bus, jid, { until: "now", onReturn: () => {} });
  if (job.schedule !== undefined) {
    throw new SvcError(
      "conflict",
      `${jid} is a run of the schedule ${visible(job.schedule)}, which its peel chose: run the function by its name`,
    );
  }
  const targets = job.targets.filter((peel) => hasFailed(job.outcomes[peel]));
  const waiting = job.counts.pending ?? 0;
  if (targets.length === 0) {
    const others =
      waiting === 0 ? "every peel ended well" : `${peelCount(waiting)} still waiting, and no other failed`;
    throw new SvcError("conflict", `the job has nothing to run again: ${others}`);
  }
  if (waiting > 0) cli.say(`${peelCount(waiting)} of ${jid} still waiting: left out`);
  const { requester } = bus;
  // What is signed is for exactly these peels: one that has left the fleet would be missing from them.
  const peels = requester === undefined ? targets : await membersOf(bus, targets, cli);
  if (requester !== undefined && !options.isConfirmed && !wasSignedBy(requester.key, job)) {
    await confirm(job, peels.length, cli);
  }
  return {
    function: job.function,
    args: job.args,
    timeout: options.timeout ?? job.timeout,
    targets: peels,
    metadata: { again: job.jid },
  };
}

async function membersOf(bus: Bus, targets: readonly string[], cli: Cli): Promise<string[]> {
  const members = (await resolvePeels(bus, targets)).map(({ peel_id }) => peel_id);
  const left = targets.length - members.length;
  if (left > 0) cli.say(`${peelCount(left)} no longer in the fleet: left out`);
  return members;
}

/**
 * Whether this key signed the request that the job follows from: for this function with these arguments, and at the
 * time in the id of the job. Otherwise the record could have the request of another job.
 */
export function wasSignedBy(
  key: string,
  job: Pick<FollowedJob, "jid" | "function" | "args" | "signed">,
): boolean {
  if (job.signed === undefined) return false;
  const { subject, envelope: text } = job.signed;
  const envelope = Buffer.from(text, "base64");
  try {
    const signed = openRequest(envelope);
    if (signed.key !== key || !isSignedFor(subject, signed)) return false;
    if (!isId("job", job.jid) || Math.floor(signed.sentAt / second) * second !== timeOfId(job.jid))
      return false;
    const { function: name, args = {} } = decode(signed.body) as Record<string, Plain>;
    return name === job.function && Bun.deepEquals(args, job.args);
  } catch {
    return false;
  }
}

async function confirm(
  { jid, created_by: createdBy, ...job }: FollowedJob,
  count: number,
  cli: Cli,
): Promise<void> {
  const what = `${visible(job.function)} ${visible(JSON.stringify(job.args).slice(0, maxShown))}`;
  if (cli.prompt === undefined) {
    throw new SvcError(
      "usage",
      `${jid} was not signed with your key, and you would sign it now: look at it with svc job show ${jid}, then add --yes`,
    );
  }
  const question = `You did not sign this job; it is said to be of ${visible(createdBy)}. Sign and run on ${peelCount(count)}: ${what}`;
  await confirmPerson(cli, question, false);
}
