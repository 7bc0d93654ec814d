import type { Log } from "../../base/log.ts";
import { type Bus, dispatchSubject, stopSubject } from "../../bus/mod.ts";
import type { KeyPair, RecordMac } from "../../identity/mod.ts";
import { encodeCall, encodeStop } from "./call.ts";
import { type CommandKind, commandSigner } from "./command.ts";
import type { Job } from "./record.ts";
import { isGenuine } from "./record-mac.ts";

/** Sends peels a signed command about a job; it does not wait for their replies. */
export type SendCommand = (kind: CommandKind, job: Job, peels: Iterable<string>) => void;

/** Commands are signed only here. */
export interface Commands {
  /** Sends them over the bus; each is invalid after the deadline of its job. */
  send: SendCommand;
  /** The command for one of the job's targets; `undefined` when no master made that job. */
  sign(kind: CommandKind, job: Job, peel: string): Uint8Array | undefined;
}

const subjects: Record<CommandKind, (jid: string, peel: string) => string> = {
  dispatch: dispatchSubject,
  stop: stopSubject,
};

/**
 * Signs commands only about jobs that masters created: jobs are read from the bus, which must not be able to
 * create commands.
 */
export function createCommands(deps: {
  bus: Pick<Bus, "publish">;
  key: KeyPair;
  mac: RecordMac;
  log: Log;
}): Commands {
  const { bus, key, mac, log } = deps;
  /** By the record as it was read: a whole fleet may ask for the same one. */
  const judged: Record<CommandKind, WeakMap<Job, boolean>> = { dispatch: new WeakMap(), stop: new WeakMap() };
  const mayBeSigned = (kind: CommandKind, job: Job): boolean => {
    const known = judged[kind].get(job);
    if (known !== undefined) return known;
    const genuine = isGenuine(mac, kind, job);
    judged[kind].set(job, genuine);
    if (!genuine)
      log.error("a stored job is not as a master made it: nothing is sent", { jid: job.jid, kind });
    return genuine;
  };
  const signerFor = (kind: CommandKind, job: Job) =>
    commandSigner({ kind, jid: job.jid, deadline: job.deadline, body: bodyOf(kind, job) }, key);
  return {
    send(kind, job, peels) {
      if (!mayBeSigned(kind, job)) return;
      const sign = signerFor(kind, job);
      for (const peel of peels) bus.publish(subjects[kind](job.jid, peel), sign(peel));
    },
    sign: (kind, job, peel) => (mayBeSigned(kind, job) ? signerFor(kind, job)(peel) : undefined),
  };
}

function bodyOf(kind: CommandKind, job: Job): Uint8Array {
  return kind === "dispatch" ? encodeCall(job, job.requestId) : encodeStop(job.cancelRequestId);
}
