import * as v from "valibot";
import { encodePeelId } from "../../base/peel-id.ts";
import { described } from "../../base/schema.ts";
import { memberNamed } from "../enrollment/mod.ts";
import { operation } from "../operation/mod.ts";
import { assertIndexed } from "./assert-indexed.ts";
import { pageOfPeels, peelPageFields } from "./page-of-peels.ts";
import { type PeelsDeps, showMember, shownPeel } from "./peel.ts";

export { countFacts } from "./count-facts-operation.ts";
export { getFactsHistory } from "./facts-history-operation.ts";
export { findFacts } from "./find-facts-operation.ts";
export { getFacts } from "./get-facts-operation.ts";

const scope = { kind: "facts", action: "read" } as const;

export const listPeels = operation({
  name: "peels.list",
  kind: "read",
  summary: "List peels, by id",
  description:
    "The members of the fleet, with what the master that answers has in memory. A page can be shorter than `limit`.",
  admits: ["operator"],
  scope,
  input: v.strictObject(peelPageFields),
  output: v.object({ peels: v.array(shownPeel), next: v.exactOptional(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: PeelsDeps, page, call) {
    const { items: peels, ...next } = await pageOfPeels(deps, page, call, (peelId) => {
      const member = deps.directory.memberOf(peelId);
      return member === undefined ? undefined : showMember(peelId, member, deps);
    });
    return { peels, ...next };
  },
});

export const showPeel = operation({
  name: "peels.show",
  kind: "read",
  summary: "Show a peel",
  admits: ["operator"],
  scope,
  input: v.strictObject({ id: described(v.string(), "Peel id, with dots or encoded") }),
  output: v.object({ peel: shownPeel }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run(deps: PeelsDeps, { id }) {
    const { directory, index } = deps;
    assertIndexed(index);
    await Promise.all([directory.caughtUp(), index.caughtUp({ facts: true, heartbeats: true })]);
    const { peelId, member } = memberNamed(directory, id);
    return { peel: showMember(peelId, member, deps) };
  },
});
