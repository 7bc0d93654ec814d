import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import { type Bus, newerCredentials, requestAsOperator, requestReply } from "../../bus/connection/mod.ts";
import { openReply } from "../../bus/subjects/envelope.ts";
import { anyMaster, readyzOfMasterSubject, readyzSubject } from "../../bus/subjects/subjects.ts";

/** More than the longest check of a master takes. */
const answerMs = 3_000;
/** For a check of this master, which has 2 s. */
const checkAnswerMs = 1_000;

const fullDisk = "bus-disk";
/** While one of these is down, others are because of it, and continue by themselves: the first one counts. */
const causes = [fullDisk, "bus", "clock"];
const startIt = "systemctl start svc-master, on its host";
const restartIt = "systemctl restart svc-master, on its host";

const reply = v.object({
  name: v.optional(v.string()),
  ready: v.boolean(),
  checks: v.record(
    v.string(),
    v.object({
      status: v.picklist(["up", "degraded", "down"]),
      message: v.optional(v.string()),
      // The version before does not say.
      next: v.optional(v.string()),
    }),
  ),
});

export const readinesses = ["up", "degraded", "down", "silent", "unknown"] as const;

/** What a master says of itself. */
export interface MasterReadiness {
  /**
   * `silent`: it does not answer for itself, whatever its heartbeat says. `unknown`: these credentials may not
   * ask.
   */
  readiness: (typeof readinesses)[number];
  /** Why it is anything but `up`. */
  reason?: string;
  /** What to do about it, one line. */
  next?: string;
}

/** Asks a master for its own /readyz, as an operator. @param name of the master, as in its heartbeat */
export const requestReadiness = (bus: Bus, name: string): Promise<MasterReadiness> =>
  judged(() => requestAsOperator(bus, readyzSubject(name), new Uint8Array(), answerMs));

/**
 * Asks whichever master runs, as an operator, when none serves requests: such as one that waits for its clock.
 *
 * @returns a sentence; `undefined` when none answers, or it is well
 */
export async function findWaitingMaster(bus: Bus): Promise<string | undefined> {
  const read = async () => requestAsOperator(bus, readyzSubject(anyMaster), new Uint8Array(), answerMs);
  try {
    const answer = await read();
    if (answer === undefined) return undefined;
    const { name = "", checks } = openReply(reply, answer);
    const { readiness, reason, next } = judge(checks);
    if (readiness !== "down") return undefined;
    return `${name} is down: ${reason}${next === undefined ? "" : `; next: ${next}`}`;
  } catch (thrown) {
    if (thrown instanceof SvcError) return undefined;
    throw thrown;
  }
}

/** The same, as a master: no operator has signed its question. */
export const requestMasterReadiness = (bus: Bus, name: string): Promise<MasterReadiness> =>
  judged(() => requestReply(bus, readyzOfMasterSubject(name), new Uint8Array(), answerMs));

/** The message of one check of another master, while it is not well. Undefined also when it does not answer in time. */
export async function requestMasterCheck(bus: Bus, name: string, check: string): Promise<string | undefined> {
  try {
    const answer = await requestReply(bus, readyzOfMasterSubject(name), new Uint8Array(), checkAnswerMs);
    if (answer === undefined) return undefined;
    const found = openReply(reply, answer).checks[check];
    return found?.status === "up" ? undefined : found?.message;
  } catch (thrown) {
    if (thrown instanceof SvcError) return undefined;
    throw thrown;
  }
}

async function judged(read: () => Promise<Uint8Array | undefined>): Promise<MasterReadiness> {
  try {
    const answer = await read();
    if (answer === undefined) {
      return {
        readiness: "silent",
        reason: "it does not answer for itself: it has just ended",
        next: startIt,
      };
    }
    return judge(openReply(reply, answer).checks);
  } catch (thrown) {
    if (toSvcError(thrown).kind === "forbidden") {
      return { readiness: "unknown", reason: "these credentials may not ask it", next: newerCredentials };
    }
    const reason = thrown instanceof SvcError ? thrown.message : describeError(thrown);
    return { readiness: "silent", reason: `it does not answer for itself: ${reason}`, next: restartIt };
  }
}

/** Whether a master needs attention at once. */
export function hasFailed({ readiness }: MasterReadiness): boolean {
  return readiness === "silent" || readiness === "down";
}

/** Whether the disk of the bus is full that this master runs: it may still take a small value, and nothing else. */
export function hasFullDisk({ readiness, reason = "" }: MasterReadiness): boolean {
  // The first cause is the first reason.
  return readiness === "down" && reason.startsWith(`${fullDisk}: `);
}

function judge(checks: v.InferOutput<typeof reply>["checks"]): MasterReadiness {
  const said = (wanted: string) =>
    Object.entries(checks)
      .filter(([, { status }]) => status === wanted)
      .map(([check, { message }]) => (message === undefined ? check : `${check}: ${message}`));
  const [down, degraded] = [said("down"), said("degraded")];
  if (down.length + degraded.length === 0) return { readiness: "up" };
  const cause = causes.find((name) => checks[name]?.status === "down") ?? "";
  const remedy = checks[cause]?.next;
  const steps = ["down", "degraded"].flatMap((wanted) =>
    Object.values(checks).flatMap(({ status, next }) => (status === wanted ? (next ?? []) : [])),
  );
  if (remedy !== undefined) {
    steps.splice(0, steps.length, remedy);
    const isIt = (line: string) => Number(line.startsWith(`${cause}:`));
    down.sort((one, other) => isIt(other) - isIt(one));
  }
  return {
    readiness: down.length > 0 ? "down" : "degraded",
    // What is degraded is often why something else is down, and has the remedy.
    reason: [...down, ...degraded].join("; "),
    ...defined({ next: steps.length === 0 ? undefined : [...new Set(steps)].join("; ") }),
  };
}
