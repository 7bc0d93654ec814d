import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { plainMap } from "../../base/schema.ts";
import { type FilesOfCall, filesOfCall } from "../../host/modules/mod.ts";
import type { Passenger } from "../operation/mod.ts";

const called = { function: v.string(), args: v.optional(plainMap, {}) };
const started = v.object({
  ...called,
  check: v.optional(v.object(called)),
  snapshot: v.optional(v.instance(Uint8Array)),
  unreleased: v.optional(v.boolean()),
});

/** What a request starts: a function, and that of its check. */
export type Started = v.InferOutput<typeof started>;

/** The files that a request means, the digest that it insists on, and whether its signer computed that. */
export type FilesOfRequest = FilesOfCall & { snapshot?: string; isUnreleased?: true };

/** What a request starts on peels; `undefined` for one that starts nothing, or is malformed. */
export function startedBy({ scope, input }: Pick<Passenger, "scope" | "input">): Started | undefined {
  const isStart =
    (scope.kind === "jobs" && scope.action === "run") ||
    (scope.kind === "rollouts" && scope.action === "start");
  const parsed = isStart ? v.safeParse(started, input) : undefined;
  return parsed?.success === true ? parsed.output : undefined;
}

/**
 * Which files of the tree a request runs; `undefined` for one that runs none.
 *
 * @throws SvcError `bad_request` when its function and its check mean different ones
 */
export function filesOf(request: Pick<Passenger, "scope" | "input">): FilesOfRequest | undefined {
  const requested = startedBy(request);
  if (requested === undefined) return undefined;
  const { snapshot, unreleased } = requested;
  const files = filesOfStarted(requested);
  if (files === undefined) return undefined;
  return {
    ...files,
    ...(snapshot === undefined ? {} : { snapshot: Buffer.from(snapshot).toString("hex") }),
    ...(unreleased === true ? { isUnreleased: true } : {}),
  };
}

/** @throws SvcError `bad_request` */
export function filesOfStarted({ check, ...main }: Started): FilesOfCall | undefined {
  const own = filesOfCall(main.function, main.args);
  const checked = check === undefined ? undefined : filesOfCall(check.function, check.args);
  if (own !== undefined && checked !== undefined && !Bun.deepEquals(own, checked)) {
    throw new SvcError("bad_request", "check: it must use the same environment and commit as the rollout");
  }
  return own ?? checked;
}
