import * as v from "valibot";
import { operation } from "../operation/mod.ts";
import { chosenTarget, targetFields, targetOf } from "./resolve.ts";
import type { Resolver } from "./resolver.ts";

const resolved = v.object({ peel_id: v.string(), alive: v.boolean() });

export interface ResolveDeps {
  resolver: Pick<Resolver, "resolveWithLife">;
}

export const resolveTarget = operation({
  name: "targets.resolve",
  kind: "read",
  summary: "See which peels a target means",
  description: "`next` says that there are more: ask again with it as `after`.",
  scope: { kind: "facts", action: "resolve" },
  input: v.strictObject({
    ...targetFields,
    after: v.optional(v.string()),
  }),
  output: v.object({
    /** How many there are on all pages. */
    total: v.optional(v.number(), 0),
    targets: v.array(resolved),
    next: v.exactOptional(v.string()),
  }),
  touches: (input) => ({ peels: targetOf(input) }),
  async run({ resolver }: ResolveDeps, input, { log, answerBytes = Number.POSITIVE_INFINITY }) {
    const found = await resolver.resolveWithLife(chosenTarget(input));
    log.debug("target resolved", { peels: found.length });
    const { after } = input;
    const from = after === undefined ? 0 : found.findIndex(({ peelId }) => peelId > after);
    const targets: v.InferOutput<typeof resolved>[] = [];
    let bytes = 0;
    for (const { peelId, alive } of from < 0 ? [] : found.slice(from)) {
      bytes += peelId.length + 20;
      if (bytes > answerBytes) break;
      targets.push({ peel_id: peelId, alive });
    }
    const last = targets.at(-1)?.peel_id;
    const isEnd = last === undefined || last === found.at(-1)?.peelId;
    return { total: found.length, targets, ...(isEnd ? {} : { next: last }) };
  },
});
