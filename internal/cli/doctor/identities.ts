import { toSvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Finding, Step } from "../../program/diagnosis/mod.ts";
import type { PeelSurvey } from "../fleet-reads.ts";
import type { DoctorContext } from "./context.ts";

/** Of peels with the same trouble, in one line. */
const maxNamed = 3;

/** Whether two hosts appear to hold one identity, and which peels are kept off the bus. */
export const identityStep: Step<DoctorContext> = {
  name: "identities",
  needs: ["masters"],
  next: "see svc enroll list --state all",
  async check({ survey }) {
    const found = await survey().catch((thrown) => {
      if (toSvcError(thrown).kind === "forbidden") return undefined;
      throw thrown;
    });
    if (found === undefined) return { level: "skip", message: "your roles do not show the peels" };
    return judgeIdentities(found);
  },
};

/** Judges the peels that are marked, the worst first. */
export function judgeIdentities({
  clones,
  copied = [],
  suspended,
}: Pick<PeelSurvey, "clones" | "copied" | "suspended">): Finding {
  if (clones.length > 0) {
    const named = naming(clones, ({ seen_at: at }) => `last seen at ${at}`);
    const [{ id = "ID" } = {}] = clones;
    return {
      level: "fail",
      message: `another host holds the identity of ${named}: the data directory was copied`,
      next: `find the other host; then svc enroll clear-clone ${id}, or svc enroll revoke ${id} if the seed was stolen`,
    };
  }
  if (suspended.length > 0) {
    const [{ id = "ID" } = {}] = suspended;
    return {
      level: "warn",
      message: `suspended: ${naming(suspended, ({ reason }) => reason)}`,
      next: `examine the host; then svc enroll resume ${id}`,
    };
  }
  if (copied.length > 0) {
    const [{ id = "ID" } = {}] = copied;
    return {
      level: "warn",
      message: `a copy asked to join of the host of ${naming(copied, ({ copied_at: at }) => at)}`,
      next: settleCopy(id),
    };
  }
  return { level: "ok", message: "no two hosts hold one" };
}

/** What to do about a copy that asked to join. @param id of the enrollment */
export const settleCopy = (id: string) =>
  `give the copy another id, or remove the data directory of the peel on it; then svc enroll clear-clone ${id}`;

/** `web-1 (…), web-2 (…) and 3 more` */
function naming<Marked extends { peel_id: string }>(
  all: readonly Marked[],
  about: (one: Marked) => string,
): string {
  const shown = all.slice(0, maxNamed).map((one) => `${displayPeelId(one.peel_id)} (${about(one)})`);
  const more = all.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
