import { type Clock, rfc3339 } from "../base/clock.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { decode, encode } from "../base/msgpack.ts";
import type { BootstrapDocument } from "../bootstrap/document.ts";
import type { Bus } from "../bus/connect.ts";
import { helloSubject, mastersQueue } from "../bus/subjects.ts";
import { encodeFailure } from "./message.ts";

/** A hello says little; what is longer no peel of ours made. */
const maxRequestBytes = 4096;

export interface HelloDeps {
  bus: Pick<Bus, "nats">;
  /** The bootstrap document as of now. */
  document(): BootstrapDocument;
  clock: Clock;
  log: Log;
}

/**
 * Answers peels that ask, after each connect or on a hint, what is new: a MessagePack map in, a map out
 * with `server_time` (RFC 3339) and `cluster_info` (the bootstrap document). Of all masters one takes
 * each request. Who asks is the token of the subject; a malformed request is answered by an error map.
 */
export function serveHello({ bus, document, clock, log }: HelloDeps): { stop(): void } {
  const answer = (subject: string, data: Uint8Array): Uint8Array => {
    const peelId = subject.split(".")[2];
    try {
      checkRequest(data);
      log.debug("peel said hello", { peel_id: peelId });
      return encode({ server_time: rfc3339(clock.now()), cluster_info: document() });
    } catch (thrown) {
      log[meaningOf(toSvcError(thrown).kind).level]("hello refused", {
        peel_id: peelId,
        reason: describeError(thrown),
      });
      return encodeFailure(thrown);
    }
  };
  const subscription = bus.nats.subscribe(helloSubject("*"), {
    queue: mastersQueue,
    callback: (error, message) => {
      if (error !== null) log.error("subscription error", { subject: helloSubject("*"), error });
      else message.respond(answer(message.subject, message.data));
    },
  });
  return { stop: () => subscription.unsubscribe() };
}

/** What the map holds is ignored: later peels may say more. @throws SvcError `bad_request` */
function checkRequest(data: Uint8Array): void {
  if (data.length > maxRequestBytes) {
    throw new SvcError("bad_request", `a hello has at most ${maxRequestBytes} bytes`);
  }
  const value = decode(data);
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isMap || value instanceof Uint8Array) throw new SvcError("bad_request", "a hello is a map");
}
