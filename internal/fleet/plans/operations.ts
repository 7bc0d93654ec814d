import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { idPattern, isId } from "../../base/id.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { described, describedDigest, integer } from "../../base/schema.ts";
import { type Call, operation, operatorOf } from "../operation/mod.ts";
import { planDocument } from "./plan-document.ts";
import { type Plans, readDocument, type WantedPlan } from "./plans.ts";
import type { PlanRecord } from "./record.ts";

export interface PlanDeps {
  plans: Plans;
  /** The members that a target means. @throws SvcError */
  resolve(expression: string): Promise<readonly string[]>;
}

const planId = v.pipe(
  v.string(),
  v.check((text) => isId("pln", text), "must be the id of a plan"),
  v.metadata({ pattern: idPattern("pln") }),
);

const wanted = {
  target: v.optional(
    described(
      v.pipe(v.string(), v.minLength(1), v.maxLength(4_096)),
      "Which peels; all of them unless given",
    ),
  ),
  environment: v.optional(
    described(
      v.pipe(v.string(), v.check(isEnvironmentName, "must be the name of an environment")),
      "Whose files would be in force; `base` unless given",
    ),
  ),
  commit: v.optional(
    described(
      v.pipe(v.string(), v.regex(/^[0-9a-f]{4,64}$/, "must be the first digits of a commit")),
      "Which of its files; the newest unless given",
    ),
  ),
  since_last_run: v.optional(
    described(v.boolean(), "Compare with what each peel ran last, and not with `base` in force"),
  ),
};

export const planStates = operation({
  name: "states.plan",
  kind: "read",
  summary: "Plan what a change of files and settings would order on each peel",
  description:
    "With `tree` the files are sent: the answer names the upload, chunks of at most 512 KiB follow in their order (`upload`, `seq`, `bytes`), and the last request has `upload` and the digest of all (`end`). Nothing is asked of peels.",
  input: v.strictObject({
    ...wanted,
    tree: v.optional(described(v.boolean(), "Whether the files are sent")),
    upload: v.optional(described(planId, "What a chunk is of")),
    seq: v.optional(described(v.pipe(integer, v.minValue(0)), "Counted from 0")),
    bytes: v.optional(
      described(
        v.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes"),
        "A chunk of a tar archive",
      ),
    ),
    end: v.optional(describedDigest("SHA-256 of all chunks together")),
  }),
  output: v.object({
    upload: v.exactOptional(described(v.string(), "The upload that has begun")),
    id: v.exactOptional(described(v.string(), "The plan that is being made")),
  }),
  touches: ({ target = "*", upload }) =>
    upload === undefined ? { peels: { expression: target } } : { fleet: true },
  async run({ plans, resolve }: PlanDeps, { upload, seq, bytes, end, tree = false, ...input }, call) {
    const operator = operatorOf(call);
    if (upload !== undefined) {
      if (end !== undefined) {
        await plans.end({ id: upload, digest: end, operator });
        return { id: upload };
      }
      if (seq === undefined || bytes === undefined) {
        throw new SvcError("bad_request", "a chunk needs seq and bytes, the last request of an upload end");
      }
      await plans.take({ id: upload, seq, bytes, operator });
      return { upload };
    }
    const found = await wantedOf(input, resolve, call);
    return tree ? { upload: await plans.begin(found) } : { id: await plans.make(found) };
  },
});

export const sendPlan = operation({
  name: "states.send-plan",
  kind: "read",
  summary: "Plan what a change of files and settings would order on each peel",
  description:
    "The body is a tar archive of a checkout; without one, `environment` and `commit` name published files. In an archive with `states/`, the settings are below `settings/`. The plan is unsigned and binds nothing.",
  scope: { kind: "states", action: "plan" },
  input: v.strictObject({
    ...wanted,
    archive: v.optional(
      described(
        v.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes"),
        "The checkout",
      ),
    ),
  }),
  output: v.object({ id: described(v.string(), "The plan that is being made") }),
  touches: ({ target = "*" }) => ({ peels: { expression: target } }),
  async run({ plans, resolve }: PlanDeps, { archive, ...input }, call) {
    return { id: await plans.make(await wantedOf(input, resolve, call), archive) };
  },
});

async function wantedOf(
  { target = "*", environment = "base", commit, since_last_run: sinceLastRun }: Wanted,
  resolve: PlanDeps["resolve"],
  call: Call,
): Promise<WantedPlan> {
  const peels = call.peels ?? (await resolve(target));
  return {
    ...{ operator: operatorOf(call), target, peels, environment },
    ...defined({ commit, sinceLastRun }),
  };
}

type Wanted = v.InferOutput<v.ObjectSchema<typeof wanted, undefined>>;

const state = described(v.picklist(["uploading", "compiling", "done", "failed"]), "`done` has the plan");
const problem = v.exactOptional(described(v.string(), "Why no plan was made"));

export const showPlan = operation({
  name: "states.show-plan",
  kind: "read",
  summary: "Show a plan",
  description: "Plans are kept for 24 hours. Their creator and those with the role `admin` see them.",
  scope: { kind: "states", action: "plan" },
  input: v.strictObject({ id: described(planId, "The id of the plan") }),
  output: v.object({
    id: v.string(),
    state,
    problem,
    plan: v.exactOptional(planDocument),
  }),
  async run({ plans }: PlanDeps, { id }, call) {
    const { plan } = await readable(plans, id, call);
    const shown = { id, state: plan.state, ...defined({ problem: plan.problem }) };
    if (plan.state !== "done") return shown;
    return { ...shown, plan: await readDocument(plans.store, plan) };
  },
});

export const fetchPlan = operation({
  name: "states.fetch-plan",
  kind: "read",
  summary: "Fetch a part of a plan: JSON with gzip",
  scope: { kind: "states", action: "plan" },
  input: v.strictObject({ id: planId, part: v.optional(v.pipe(integer, v.minValue(0)), 0) }),
  output: v.object({
    state,
    problem,
    parts: integer,
    bytes: v.exactOptional(described(v.string(), "The part, in base64")),
  }),
  async run({ plans }: PlanDeps, { id, part }, call) {
    const { plan } = await readable(plans, id, call);
    const shown = { state: plan.state, parts: plan.parts.length, ...defined({ problem: plan.problem }) };
    const digest = plan.state === "done" ? plan.parts[part] : undefined;
    return digest === undefined ? shown : { ...shown, bytes: encodeBase64(await plans.store.part(digest)) };
  },
});

/** A plan shows facts and settings of its peels, which another one may not see. @throws SvcError `not_found` */
async function readable(plans: Plans, id: string, call: Call): Promise<{ plan: PlanRecord }> {
  const found = await plans.store.get(id);
  const { caller } = call;
  const roles = caller.kind === "operator" ? caller.roles : undefined;
  if (roles === undefined || roles.includes("admin") || found.plan.operator === operatorOf(call))
    return found;
  throw new SvcError("not_found", `the plan ${id} does not exist, or another operator made it`);
}
