import { SvcError } from "../../base/errors.ts";
import { fromSiteSubject, type Origin, originOf } from "../../bus/accounts/mod.ts";
import { type Bus, isInbox } from "../../bus/connection/mod.ts";
import { encodeFailure } from "../../bus/subjects/envelope.ts";
import { mastersQueue, progressSubject } from "../../bus/subjects/subjects.ts";

/**
 * Serves requests of peels of the bus of the masters, and those that come over the links of sites. What is served sees
 * no difference: it gets the subject on which the peel sent, and nothing that a site may not send.
 *
 * @param admits whether a request counts: what came over the link of a site does only for peels of that site
 */
export function fromPeels(
  bus: Pick<Bus, "serve" | "nats">,
  admits: (origin: Origin) => boolean,
): Pick<Bus, "serve" | "nats"> {
  const refusal = encodeFailure(
    new SvcError(
      // A code after which peels of every version try again: an operator gives the label meanwhile.
      "unavailable",
      "this peel does not have the label of the site over whose link it asks: see svc enroll label",
    ),
  );
  return {
    nats: bus.nats,
    serve(subject, queue, answer, onDropped) {
      const direct = bus.serve(subject, queue, answer, onDropped);
      const overLinks = bus.serve(
        fromSiteSubject("*", subject),
        queue,
        (data, taken, sent) => {
          const origin = originOf(taken);
          // Answered in any case: the bus remembers each request without an answer for two minutes.
          return admits(origin) ? answer(data, origin.subject, sent) : refusal;
        },
        onDropped &&
          ((taken) => {
            const origin = originOf(taken);
            if (admits(origin)) onDropped(origin.subject);
          }),
      );
      return {
        stop() {
          direct.stop();
          overLinks.stop();
        },
      };
    },
  };
}

/** Where nobody listens. A server takes no message with the reply subject of another account. */
const nobody = "_INBOX.nobody";

/**
 * Passes on what peels of sites report of the progress of jobs, to where operators listen, and where it is counted like
 * that of all peels.
 */
export function passOnProgress(
  { nats, log }: Pick<Bus, "nats" | "log">,
  admits: (origin: Origin) => boolean,
): { stop(): void } {
  const subject = fromSiteSubject("*", progressSubject("*", "*"));
  const subscription = nats.subscribe(subject, {
    queue: mastersQueue,
    callback(error, message) {
      if (error !== null) return log.error("subscription error", { subject, error });
      const origin = originOf(message.subject);
      if (admits(origin)) nats.publish(origin.subject, message.data, { reply: nobody });
      // The bus remembers each request without an answer for two minutes.
      if (isInbox(message.reply)) message.respond();
    },
  });
  return { stop: () => subscription.unsubscribe() };
}
