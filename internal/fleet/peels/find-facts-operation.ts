import * as v from "valibot";
import type { Plain } from "../../base/msgpack.ts";
import { described, plainMap, titled } from "../../base/schema.ts";
import { operation } from "../operation/mod.ts";
import { checkFactNames, factNames, namesIn } from "./fact-names.ts";
import { packedFact } from "./packed-fact.ts";
import { type FoundDeps, pageOfPeels, peelPageFields } from "./page-of-peels.ts";

/** Facts in one row, at most. */
export const maxShown = 20;

const foundFacts = titled(
  "PeelFacts",
  v.object({
    peel_id: described(v.string(), "Encoded peel id"),
    facts: described(plainMap, "The chosen facts by name; one that the peel does not have is absent"),
  }),
);
export type FoundFacts = v.InferOutput<typeof foundFacts>;

export const findFacts = operation({
  name: "facts.find",
  kind: "read",
  summary: "Show some facts of many peels",
  description:
    "From the memory of the master that answers: what targets can use. Texts of more than 1,024 characters, and what a peel has beyond 64 KiB, are left out.",
  scope: { kind: "facts", action: "read" },
  input: v.strictObject({
    ...peelPageFields,
    show: factNames(
      maxShown,
      "Names of facts with commas between them, or of values inside them: `os,mounts:/:fstype`",
    ),
  }),
  output: v.object({ peels: v.array(foundFacts), next: v.exactOptional(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: FoundDeps, { target, limit, cursor, show }, call) {
    const { index, directory } = deps;
    const names = namesIn(show);
    const seen = new Set<string>();
    const rowOf = (peelId: string): FoundFacts => {
      const known = index.factsOf(peelId);
      const facts: [string, Plain][] = [];
      for (const name of names) {
        const value = packedFact(known, name);
        if (value === undefined) continue;
        seen.add(name);
        facts.push([name, value]);
      }
      return { peel_id: peelId, facts: Object.fromEntries(facts) };
    };
    const { items, next } = await pageOfPeels(deps, { target, limit, cursor }, call, rowOf);
    const missing = names.filter((name) => !seen.has(name));
    if (items.length > 0) checkFactNames(missing, directory.members(), index.factsOf);
    return { peels: items, ...(next === undefined ? {} : { next }) };
  },
});
