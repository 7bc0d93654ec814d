import type { Bus } from "../bus/connect.ts";
import { dispatchSubject, stopSubject } from "../bus/subjects.ts";
import type { KeyPair } from "../identity/nkey.ts";
import { encodeCall, encodeStop } from "./call.ts";
import { type CommandKind, signCommand } from "./command.ts";
import type { Job } from "./record.ts";

/** Sends peels a signed command about a job; nobody waits for them here. */
export type SendCommand = (kind: CommandKind, job: Job, peels: Iterable<string>) => void;

const subjects: Record<CommandKind, (jid: string, peel: string) => string> = {
  dispatch: dispatchSubject,
  stop: stopSubject,
};

/** Signs the command of a job for one peel. */
export function commandFor(kind: CommandKind, job: Job, peel: string, key: KeyPair): Uint8Array {
  return sign(kind, job, peel, commandBody(kind, job), key);
}

/**
 * Sends commands over this bus; each is void after its job's deadline.
 *
 * @param key signs them
 */
export function createSender(bus: Pick<Bus, "publish">, key: KeyPair): SendCommand {
  return (kind, job, peels) => {
    const body = commandBody(kind, job);
    for (const peel of peels) bus.publish(subjects[kind](job.jid, peel), sign(kind, job, peel, body, key));
  };
}

function commandBody(kind: CommandKind, job: Job): Uint8Array {
  return kind === "dispatch" ? encodeCall(job, job.requestId) : encodeStop(job.cancelRequestId);
}

function sign(kind: CommandKind, { jid, deadline }: Job, peel: string, body: Uint8Array, key: KeyPair) {
  return signCommand({ kind, jid, peel, deadline, body }, key);
}
