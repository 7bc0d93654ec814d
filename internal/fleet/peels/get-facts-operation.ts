import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { suggestion } from "../../base/nearest.ts";
import { described, plain, timestamp } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { findFact } from "../../host/facts/mod.ts";
import { readFacts } from "../../wire/facts.ts";
import { memberNamed } from "../enrollment/store/mod.ts";
import { operation } from "../operation/mod.ts";
import { factName } from "./fact-names.ts";
import type { PeelsDeps } from "./peel.ts";

/** Where a master reads the facts of one peel. */
export interface FactsDeps {
  directory: PeelsDeps["directory"];
  facts: Pick<Bucket, "get">;
}

export const getFacts = operation({
  name: "facts.get",
  kind: "read",
  summary: "Show the stored facts of a peel",
  scope: { kind: "facts", action: "read" },
  input: v.strictObject({
    id: described(v.string(), "Peel id, with dots or encoded"),
    name: v.optional(factName),
  }),
  output: v.object({ value: plain, stored_at: described(timestamp, "When the bus stored the facts") }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run({ directory, facts }: FactsDeps, { id, name }) {
    await directory.caughtUp();
    const { peelId } = memberNamed(directory, id);
    const shown = displayPeelId(peelId);
    const entry = await facts.get(peelId);
    if (entry === undefined) throw new SvcError("not_found", `${shown} has stored no facts yet`);
    const all = readFacts(entry.value);
    if (all === undefined) throw new SvcError("not_found", `the stored facts of ${shown} cannot be read`);
    const stored = { stored_at: rfc3339(entry.storedAt) };
    if (name === undefined) return { value: all, ...stored };
    const value = findFact(all, name);
    if (value !== undefined) return { value, ...stored };
    const near = suggestion(name, Object.keys(all));
    throw new SvcError("not_found", `${shown} has no fact ${JSON.stringify(name.slice(0, 100))}${near}`);
  },
});
