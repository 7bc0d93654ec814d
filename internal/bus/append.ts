import { headers } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { assertStored } from "./stored.ts";

const requestTimeoutMs = 5_000;
/** Error code of JetStream for a failed expectation on the last sequence of a subject. */
const wrongLastSequence = 10071;

/** What makes storing a message again harmless. */
export interface AppendOnce {
  /** The stream takes one message of this id within two minutes. */
  id?: string;
  /** Place of the message that must be the last on this subject; 0 for none. */
  after?: number;
}

/**
 * Stores a message in the stream that captures its subject.
 *
 * @returns whether the stream has it now, also from an earlier time; `false` when another is the last on the
 *   subject
 * @throws SvcError `unavailable` when it was refused or nobody answered
 */
export async function append(
  bus: Bus,
  subject: string,
  data: Uint8Array,
  { id, after }: AppendOnce,
): Promise<boolean> {
  const head = headers();
  if (id !== undefined) head.set("Nats-Msg-Id", id);
  if (after !== undefined) head.set("Nats-Expected-Last-Subject-Sequence", `${after}`);
  const answer = await ask(bus, subject, data, head);
  if (after !== undefined && isOvertaken(answer)) return false;
  assertStored(answer);
  return true;
}

/**
 * The last message that a stream holds on a subject.
 *
 * @throws SvcError `unavailable`
 */
export async function lastOn(
  bus: Bus,
  stream: string,
  subject: string,
): Promise<{ sequence: number; data: Uint8Array } | undefined> {
  const query = new TextEncoder().encode(JSON.stringify({ last_by_subj: subject }));
  const answer = await ask(bus, `$JS.API.STREAM.MSG.GET.${stream}`, query);
  const { message, error } = JSON.parse(new TextDecoder().decode(answer)) as {
    message?: { seq: number; data?: string };
    error?: { code: number; description?: string };
  };
  if (message !== undefined)
    return { sequence: message.seq, data: Buffer.from(message.data ?? "", "base64") };
  if (error?.code === 404) return undefined;
  throw new SvcError(
    "unavailable",
    `the stream ${stream} cannot be read: ${error?.description ?? "no reason"}`,
  );
}

async function ask(
  bus: Bus,
  subject: string,
  data: Uint8Array,
  head?: ReturnType<typeof headers>,
): Promise<Uint8Array> {
  try {
    const options = { timeout: requestTimeoutMs, ...(head === undefined ? {} : { headers: head }) };
    return (await bus.nats.request(subject, data, options)).data;
  } catch (cause) {
    throw new SvcError("unavailable", "the bus does not answer: is it up?", { cause });
  }
}

function isOvertaken(answer: Uint8Array): boolean {
  try {
    const { error } = JSON.parse(new TextDecoder().decode(answer)) as { error?: { err_code?: number } };
    return error?.err_code === wrongLastSequence;
  } catch {
    return false;
  }
}
