import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { plainMap } from "../../base/schema.ts";
import { type FilesOfCall, filesOfCall } from "../../host/modules/mod.ts";
import { type Content, shortSnapshot } from "../../wire/content.ts";
import type { Passenger } from "../operation/mod.ts";

const called = { function: v.string(), args: v.optional(plainMap, {}) };
const started = v.object({
  ...called,
  check: v.optional(v.object(called)),
  snapshot: v.optional(v.instance(Uint8Array)),
});

/** The files that a request means, and the digest that it insists on. */
export type FilesOfRequest = FilesOfCall & { snapshot?: string };

/**
 * Which files of the tree a request runs; `undefined` for one that runs none.
 *
 * @throws SvcError `bad_request` when its function and its check mean different ones
 */
export function filesOf({ scope, input }: Pick<Passenger, "scope" | "input">): FilesOfRequest | undefined {
  const isStart =
    (scope.kind === "jobs" && scope.action === "run") ||
    (scope.kind === "rollouts" && scope.action === "start");
  const parsed = isStart ? v.safeParse(started, input) : undefined;
  if (parsed?.success !== true) return undefined;
  const { check, snapshot, ...main } = parsed.output;
  const own = filesOfCall(main.function, main.args);
  const checked = check === undefined ? undefined : filesOfCall(check.function, check.args);
  if (own !== undefined && checked !== undefined && !Bun.deepEquals(own, checked)) {
    throw new SvcError("bad_request", "check: it must use the same environment and commit as the rollout");
  }
  const files = own ?? checked;
  if (files === undefined) return undefined;
  return { ...files, ...(snapshot === undefined ? {} : { snapshot: Buffer.from(snapshot).toString("hex") }) };
}

/** @throws SvcError `conflict` when other files are published under this name than those that were requested */
export function assertSameFiles(wanted: FilesOfRequest, found: Content): void {
  if (wanted.snapshot === undefined || wanted.snapshot === found.snapshot) return;
  throw new SvcError(
    "conflict",
    `the state files of ${found.environment} are ${shortSnapshot(found.snapshot)} now, not ${shortSnapshot(wanted.snapshot)}: nothing was started; ask again`,
  );
}
