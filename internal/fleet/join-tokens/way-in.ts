import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { isJoinProof } from "../../identity/join-token/mod.ts";
import type { RecordMac } from "../../identity/mod.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { Admission, WayIn } from "../enrollment/joining/mod.ts";
import type { LacksForLabels } from "../roles/mod.ts";
import type { JoinTokenRecord } from "./record.ts";
import { secretOf } from "./secret.ts";
import { stateOf } from "./state.ts";
import type { createTakings } from "./take.ts";
import type { JoinTokenView } from "./view.ts";

export interface JoinTokenWayDeps {
  view: Pick<JoinTokenView, "get" | "caughtUp">;
  takings: ReturnType<typeof createTakings>;
  mac: RecordMac;
  lacks: LacksForLabels;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** The way in of hosts that have a token. A host without one continues with the next way. */
export function createJoinTokenWay(deps: JoinTokenWayDeps): WayIn {
  const { view, takings, mac, lacks, clock, log } = deps;
  return {
    async judge(candidate): Promise<Admission | undefined> {
      const { token: shown, peelId, publicKey } = candidate.submission;
      if (shown === undefined) return undefined;
      await view.caughtUp();
      const token = view.get(shown.id);
      const isProven = isJoinProof(shown.proof, {
        secret: secretOf(mac, shown.id),
        ...{ challenge: candidate.challenge, publicKey },
      });
      if (!isProven) {
        log.warn("join token refused", { token: shown.id, peel_id: peelId, reason: "wrong proof" });
        throw new SvcError("unauthorized", "join token verification failed");
      }
      const problem = problemOf(token, peelId, clock.now());
      const refuse = (reason: string): never => {
        log.info("join token refused", { token: shown.id, peel_id: peelId, reason });
        throw new SvcError("forbidden", `join token ${reason}`);
      };
      if (token === undefined || problem !== undefined) return refuse(problem ?? unknown);
      const { labels } = token;
      const by = `token:${token.id}`;
      const former = candidate.record.former?.labels ?? {};
      const lacking = await lacks(token.maker, { own: labels, former });
      if (lacking !== undefined) {
        const { createdBy: created_by } = token;
        log.warn("a host with a join token waits: who created it lacks the right to give its labels", {
          ...{ token: token.id, peel_id: peelId, created_by, lacking },
        });
        return { decide: "hold", by, proven: true };
      }
      // Without a use: a person decides.
      if (token.hold || candidate.record.trustMismatch === true)
        return { decide: "hold", by, labels, proven: true };
      const taken = await takings.take(token, { enrollment: candidate.record.id, peelId, publicKey });
      if (taken === undefined) return refuse(usedUp(token));
      return { decide: "approve", by, labels, proven: true, ...taken };
    },
  };
}

const unknown = "does not exist: it was removed long after its end";
const usedUp = ({ uses }: JoinTokenRecord) =>
  `is used up: ${uses === 1 ? "another host has joined with it" : `${uses} hosts have joined with it`}`;

/** Why a token lets this host not in, as the end of a sentence that begins with "join token". */
function problemOf(token: JoinTokenRecord | undefined, peelId: string, now: number): string | undefined {
  if (token === undefined) return unknown;
  // Whether uses are left is known when one is taken.
  switch (stateOf(token, 0, now)) {
    case "revoked":
      return "was revoked";
    case "ended":
      return `ended at ${rfc3339(token.expiresAt)}`;
    default:
      break;
  }
  if (matchGlob(token.peel, displayPeelId(peelId))) return undefined;
  return `is for hosts that match ${token.peel}, and not for ${displayPeelId(peelId)}`;
}
