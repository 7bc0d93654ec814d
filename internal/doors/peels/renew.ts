import { describeError, type ErrorKind, meaningOf, toSvcError } from "../../base/errors.ts";
import { createSlots } from "../../base/slots.ts";
import { type Bus, badReply } from "../../bus/connection/mod.ts";
import { encodeRateLimited } from "../../bus/subjects/envelope.ts";
import { mastersQueue, rekeySubject, renewSubject } from "../../bus/subjects/subjects.ts";
import type { Budgets, LogLines } from "../../fleet/budget/mod.ts";
import { type RenewDeps, rekey, renew } from "../../fleet/enrollment/credentials/mod.ts";
import type { LearnedKeys } from "../../wire/learned-keys.ts";
import {
  encodeIssued,
  encodeRenewalRefused,
  openRekey,
  openRenewal,
  type RenewalCode,
} from "../../wire/renewal.ts";

/**
 * How many requests are answered at the same time, and how many wait; each peel has two of them, so that a second
 * host with its identity cannot keep it from renewing.
 */
const bounds = { atOnce: 64, ofOne: 2, waiting: 16_384 } as const;

const codes: Partial<Record<ErrorKind, RenewalCode>> = {
  bad_request: "bad_request",
  unauthorized: "unauthorized",
  not_found: "not_found",
  forbidden: "forbidden",
  // A record that ended meanwhile.
  invalid_transition: "forbidden",
  rate_limited: "rate_limited",
};

export interface RenewalsDeps extends LearnedKeys {
  budgets: Pick<Budgets, "take">;
  lines: Pick<LogLines, "say">;
  bus: Pick<Bus, "serve">;
  renewal: RenewDeps;
  metrics: { credentialsRenewal(outcome: RenewalCode | "renewed" | "rekeyed" | "repeated"): void };
}

const clone = {
  code: "clone_suspected",
  message:
    "another host holds this identity: its credentials were renewed with another key. An operator finds out which host is the right one, and revokes the enrollment",
} as const;

/**
 * Serves the requests of peels for new credentials: `renew`, with the same keys of the peel, and `rekey`, with new
 * ones. A request is a MessagePack map that the peel signed. The reply is a map with `jwt`, `expires_at` (RFC 3339)
 * and `command_keys`, or an error map. A request goes to one master; a repeated one is answered again.
 */
export function serveRenewals(deps: RenewalsDeps): { stop(): void } {
  const { bus, budgets, lines, renewal, metrics } = deps;
  const slots = createSlots(bounds);
  const limited = encodeRateLimited();
  const refuse = (code: RenewalCode, message: string) => {
    metrics.credentialsRenewal(code);
    return encodeRenewalRefused(code, message);
  };

  const serve = (subject: string, respond: (peelId: string, data: Uint8Array) => Promise<Uint8Array>) => {
    const answer = async (peelId: string, data: Uint8Array): Promise<Uint8Array> => {
      const release = await slots.take(peelId).catch(() => undefined);
      if (release === undefined) return limited;
      try {
        return await respond(peelId, data);
      } catch (thrown) {
        const { kind, message } = toSvcError(thrown);
        const code = codes[kind] ?? "unavailable";
        lines.say(meaningOf(kind).level, "renewal refused", peelId, { code, reason: describeError(thrown) });
        return refuse(code, message);
      } finally {
        release();
      }
    };
    return bus.serve(
      subject,
      mastersQueue,
      (data, subject) => {
        const peelId = peelOf(subject);
        return budgets.take(peelId, "requests", data.length) ? answer(peelId, data) : limited;
      },
      (subject) => {
        // It counts like any other: otherwise a peel could send these without limit.
        const peelId = peelOf(subject);
        if (budgets.take(peelId, "requests")) lines.say("warn", badReply, peelId);
      },
    );
  };
  const serving = [
    serve(renewSubject("*"), async (peelId, data) => {
      const renewed = await renew(renewal, peelId, openRenewal(data));
      if (renewed.verdict === "clone") return refuse(clone.code, clone.message);
      metrics.credentialsRenewal(renewed.verdict === "repeat" ? "repeated" : "renewed");
      return encodeIssued(renewed, deps);
    }),
    serve(rekeySubject("*"), async (peelId, data) => {
      const rekeyed = await rekey(renewal, peelId, openRekey(data));
      metrics.credentialsRenewal(rekeyed.verdict === "repeat" ? "repeated" : "rekeyed");
      return encodeIssued(rekeyed, deps);
    }),
  ];
  return {
    stop() {
      for (const one of serving) one.stop();
    },
  };
}

const peelOf = (subject: string): string => subject.split(".")[2] ?? "";
