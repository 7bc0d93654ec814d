import { SvcError } from "../../base/errors.ts";
import {
  type AssetName,
  fullest,
  inspectAssets,
  inspectFullness,
  newerCredentials,
  probeStorage,
} from "../../bus/mod.ts";
import type { Finding, Step } from "../../program/diagnosis/mod.ts";
import { probeKey } from "../storage-problem.ts";
import type { DoctorContext } from "./context.ts";

const answerMs = 2_000;
/** What these credentials may look at. */
const readable: readonly AssetName[] = [
  "enrollments",
  "revocations",
  "jobs",
  "facts",
  "peel-heartbeat",
  "rollouts",
  "job-events",
];

const missing: Finding = {
  level: "warn",
  message: "nothing was written: the bucket probe does not exist",
  next: "start or restart a master of this version: it creates what is missing",
};

/** Writes and reads a value, and looks for streams that are full. */
export const probeStep: Step<DoctorContext> = {
  name: "writes",
  needs: ["storage"],
  async look({ connect }) {
    const bus = await connect();
    const exists = (await inspectAssets(bus, ["probe"])).get("probe") !== "missing";
    const state = exists ? await probe(() => probeStorage(bus, "probe", probeKey, answerMs)) : missing;
    if (state !== undefined && state.level === "fail") return state;
    const worst = fullest(await inspectFullness(bus, readable, answerMs));
    if (worst === undefined) return state ?? { level: "ok", message: "a value was written and read" };
    const [message = "", next = ""] = worst.message.split(/: (.*)/);
    return { level: worst.full ? "fail" : "warn", message, next };
  },
};

/** @returns `undefined` when it worked */
async function probe(run: () => Promise<unknown>): Promise<Finding | undefined> {
  try {
    await run();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    if (thrown.kind === "forbidden") {
      return { level: "warn", message: thrown.message, next: newerCredentials };
    }
    return { level: "fail", message: thrown.message, next: "search the log of the bus for JetStream" };
  }
}
