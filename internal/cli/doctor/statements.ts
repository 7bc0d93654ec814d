import { rfc3339 } from "../../base/clock.ts";
import type { Finding } from "../../program/diagnosis/mod.ts";
import { excerpt, type ReportedTrust } from "./reported.ts";

type Refused = ReportedTrust["refused"][number];

const subjects: Record<Refused["kind"], string> = {
  rotation: "the statement of the rotation of the root",
  succession: "a statement of succession",
};

/**
 * Whether a peel refused a signed statement of its masters, and why.
 *
 * @param reported what the facts of the peel say; `undefined` without facts
 */
export function judgeStatements(reported: ReportedTrust | undefined): Finding {
  if (reported === undefined) {
    return { level: "skip", message: "it has stored no facts", next: "see the step facts" };
  }
  const { refused } = reported;
  if (refused.length === 0) return { level: "ok", message: "it reports no refused statement" };
  const isCutOff = refused.some(({ kind }) => kind === "rotation");
  return {
    // The peel is on the bus: a succession that it refused matters when its fleet is gone.
    level: isCutOff ? "fail" : "warn",
    message: refused.map(describe).join("; "),
    next: refused.map(({ kind, reason }) => nextOf(kind, reason)).join("; "),
  };
}

function describe({ kind, reason, at }: Refused): string {
  const time = Date.parse(at);
  const since = Number.isNaN(time) ? "" : ` since ${rfc3339(time)}`;
  return `it refuses ${subjects[kind]}${since}: ${excerpt(reason)}`;
}

function nextOf(kind: Refused["kind"], reason: string): string {
  if (kind === "succession") {
    return "if svc fleet succeed made it, give that fleet a recovery key that this peel knows (docs/succession.md); otherwise find the host that answers in place of a master";
  }
  return reason.includes("command key")
    ? "see the step command keys: the peel must learn that key first, over HTTPS from a master"
    : "compare ca/next of all masters (svc ca rotate status), and copy it again from the master where svc ca rotate start ran; if they agree, another host answers in place of a master";
}
