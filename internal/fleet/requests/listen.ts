import type { Log } from "../../base/log.ts";
import { decode } from "../../base/msgpack.ts";
import { fromOperatorSubject, parseFromOperator } from "../../base/names/operator-subject.ts";
import { isMap } from "../../base/plain-map.ts";
import type { Bus, Sent } from "../../bus/connection/mod.ts";
import { encodeFailure } from "../../bus/subjects/envelope.ts";
import { mastersQueue } from "../../bus/subjects/subjects.ts";
import { decodePublicKey } from "../../identity/mod.ts";
import { isEnvelope } from "../../wire/signed-request.ts";
import type { RequestJudge } from "./door.ts";
import { type OperatorBudgets, unnamedSender } from "./operator-budgets.ts";

/** A request of an operator as it came over the bus. */
export interface OperatorRequest extends Sent {
  data: Uint8Array;
  /** What is signed: without the key of the bus user. */
  subject: string;
  /** The bus user that published it, where the server names it. */
  user?: string;
  /** Whose budget it spends. */
  sender: string;
  /** The bytes decoded; `undefined` where they are something else. */
  map?: Readonly<Record<string, unknown>>;
}

/** What listens to operators. */
export interface Ear {
  bus: Pick<Bus, "serve">;
  log: Pick<Log, "warn">;
  requests?: Pick<RequestJudge, "required">;
  budgets: Pick<OperatorBudgets, "run">;
}

/**
 * Answers requests of operators on a subject: below the key of each bus user, and on the subject itself where requests
 * need no signature. A request whose reply would reach someone else gets none: masters may publish everywhere, so a
 * caller could have them write to the inbox of another operator, to a stream, or to JetStream. What is beyond the budget
 * of its sender is refused before it is decoded, verified or remembered.
 *
 * @param answer resolves with the reply, or with nothing when it sends the answer itself
 * @param queue of the subject itself; below the keys it is that of all masters
 */
export function listenToOperators(
  { bus, log, requests, budgets }: Ear,
  pattern: string,
  queue: string,
  answer: (request: OperatorRequest) => Promise<Uint8Array | undefined>,
): { stop(): void } {
  const listen = (published: string, group: string) =>
    bus.serve(published, group, (data, given, sent) => {
      const parsed = parseFromOperator(given);
      const { user, user: sender = unnamedSender } = parsed;
      const work = async () => {
        const request: OperatorRequest = { ...sent, ...parsed, sender, data, ...readMap(data) };
        if (isOwnInbox(request)) return answer(request);
        log.warn(foreignReply, { subject: request.subject });
        return undefined;
      };
      return budgets
        .run(sender, work, data.length)
        .catch((refusal) => (mayRefuse(sent.reply, user, data) ? encodeFailure(refusal) : undefined));
    });
  const listening = [listen(fromOperatorSubject("*", pattern), mastersQueue)];
  if (requests?.required !== true) listening.push(listen(pattern, queue));
  return {
    stop() {
      for (const one of listening) one.stop();
    },
  };
}

/** The token after `_INBOX.`, which is the key of a user who has one; `undefined` for another subject. */
const ownerOf = (reply: string): string | undefined =>
  reply.startsWith(inboxes) ? reply.slice(inboxes.length).split(".", 1)[0] : undefined;

const foreignReply = "request dropped: its reply subject is not in the inbox of its sender";
const inboxes = "_INBOX.";

/**
 * Whether the reply goes to the caller. With an envelope its key has the inbox; the server says better than an envelope
 * whose it is, since nobody has verified the signature yet. Without an envelope any inbox is right that is not below the
 * key of another user.
 */
function isOwnInbox({ reply, user, map }: Pick<OperatorRequest, "reply" | "user" | "map">): boolean {
  const owner = ownerOf(reply);
  if (owner === undefined) return false;
  if (isEnvelope(map) && typeof map?.key === "string") return owner === (user ?? map.key);
  return owner === user || decodePublicKey("user", owner) === undefined;
}

/** Larger requests on subjects without a key are not decoded to refuse them. */
const maxRefused = 64 * 1024;

/** Whether a refusal goes to the caller, as far as that is known without decoding what is refused. */
function mayRefuse(reply: string, user: string | undefined, data: Uint8Array): boolean {
  if (user === undefined) return data.length <= maxRefused && isOwnInbox({ reply, ...readMap(data) });
  const owner = ownerOf(reply);
  return owner !== undefined && (owner === user || decodePublicKey("user", owner) === undefined);
}

/** Decodes a request. @returns no map for other bytes */
export function readMap(data: Uint8Array): Pick<OperatorRequest, "map"> {
  try {
    const value = decode(data);
    return isMap(value) ? { map: value } : {};
  } catch {
    return {};
  }
}
