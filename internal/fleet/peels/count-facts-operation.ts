import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import type { Plain } from "../../base/msgpack.ts";
import { described, integer, plainMap, titled } from "../../base/schema.ts";
import { operation } from "../operation/mod.ts";
import { checkFactNames, factNames, namesIn } from "./fact-names.ts";
import { packedFact } from "./packed-fact.ts";
import { type FoundDeps, peelsOf, targetField } from "./page-of-peels.ts";
import { shorten } from "./shorten.ts";

/** Facts that are counted together, at most. */
export const maxCounted = 5;
/** Groups in one answer. A peel chooses its facts itself, and could be a group of its own. */
const maxGroups = 1_000;
/** What is longer counts under its beginning. */
const maxValue = 256;

const group = titled(
  "FactGroup",
  v.object({
    facts: described(plainMap, "The values that these peels share; a fact that they do not have is absent"),
    peels: described(integer, "How many peels these are"),
  }),
);

export const countFacts = operation({
  name: "facts.count",
  kind: "read",
  summary: "Count peels by their facts",
  description:
    "The largest groups first, at most 1,000. From the memory of the master that answers, as `facts.find`.",
  scope: { kind: "facts", action: "read" },
  input: v.strictObject({
    target: targetField,
    by: factNames(maxCounted, "Names of facts with commas between them: `os,osrelease`"),
  }),
  output: v.object({
    groups: v.array(group),
    peels: described(integer, "How many peels were counted"),
    other_groups: v.exactOptional(described(integer, "Groups that are not in the answer")),
    other_peels: v.exactOptional(described(integer, "Peels in these")),
  }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: FoundDeps, { target, by }) {
    const { index, directory } = deps;
    const names = namesIn(by);
    const found = await peelsOf(deps, target);
    const groups = new Map<string, { facts: Record<string, Plain>; peels: number }>();
    const seen = new Set<string>();
    for (const peelId of found) {
      const known = index.factsOf(peelId);
      const facts = names.flatMap((name): [string, Plain][] => {
        const value = packedFact(known, name);
        return value === undefined ? [] : [[name, shorten(value, maxValue)]];
      });
      for (const [name] of facts) seen.add(name);
      const key = JSON.stringify(facts);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { facts: Object.fromEntries(facts), peels: 1 });
      else group.peels++;
    }
    const missing = names.filter((name) => !seen.has(name));
    if (found.length > 0) checkFactNames(missing, directory.members(), index.factsOf);
    // Keys in order, so that two masters answer the same.
    const ordered = [...groups].sort(([a, one], [b, other]) => other.peels - one.peels || (a < b ? -1 : 1));
    const others = ordered.slice(maxGroups).map(([, { peels }]) => peels);
    const more = others.length === 0 ? undefined : others.length;
    return {
      groups: ordered.slice(0, maxGroups).map(([, one]) => one),
      peels: found.length,
      ...defined({
        other_groups: more,
        other_peels: more === undefined ? undefined : others.reduce((sum, peels) => sum + peels, 0),
      }),
    };
  },
});
