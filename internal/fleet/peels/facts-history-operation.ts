import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { described, plain, timestamp, titled } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { readFacts } from "../../wire/facts.ts";
import { memberNamed } from "../enrollment/store/mod.ts";
import { operation } from "../operation/mod.ts";
import { type FactChange, factChanges } from "./fact-changes.ts";
import type { PeelsDeps } from "./peel.ts";
import { shorten } from "./shorten.ts";

/** Changes in one answer, at most: a peel chooses its facts itself. */
const maxChanges = 1_000;

/** What is longer is shown by its beginning. */
const maxValue = 4_096;

/** Where a master reads the earlier facts of one peel. */
export interface FactsHistoryDeps {
  directory: PeelsDeps["directory"];
  facts: Pick<Bucket, "history">;
}

const change = titled(
  "FactChange",
  v.object({
    at: described(timestamp, "When the peel stored it"),
    name: described(v.string(), "The fact, or the value inside it: `mounts:/:fstype`"),
    before: v.exactOptional(described(plain, "Absent when it did not exist")),
    after: v.exactOptional(described(plain, "Absent when it does not exist any more")),
  }),
);
export type ShownChange = v.InferOutput<typeof change>;

export const getFactsHistory = operation({
  name: "facts.history",
  kind: "read",
  summary: "Show what changed in the facts of a peel",
  description:
    "The newest changes first. The bus keeps up to 10 versions of the facts of a peel, and fewer when it is short of room.",
  scope: { kind: "facts", action: "read" },
  input: v.strictObject({
    id: described(v.string(), "Peel id, with dots or encoded"),
    since: v.optional(described(timestamp, "Only changes of this time or later")),
  }),
  output: v.object({
    changes: v.array(change),
    known_since: described(timestamp, "When the oldest version that is kept was stored"),
    more: v.exactOptional(
      v.pipe(v.literal(true), v.metadata({ type: "boolean", description: "Older changes did not fit" })),
    ),
  }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run(
    { directory, facts }: FactsHistoryDeps,
    { id, since },
    { answerBytes = Number.POSITIVE_INFINITY },
  ) {
    await directory.caughtUp();
    const { peelId } = memberNamed(directory, id);
    const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
    // A version that cannot be read says nothing about the others.
    const versions = (await facts.history(peelId)).flatMap(({ value, storedAt }) => {
      const all = readFacts(value);
      return all === undefined ? [] : [{ all, storedAt }];
    });
    const [oldest] = versions;
    if (oldest === undefined) {
      throw new SvcError("not_found", `${displayPeelId(peelId)} has stored no facts yet`);
    }
    const known_since = rfc3339(oldest.storedAt);
    const changes: ShownChange[] = [];
    let bytes = 0;
    for (let place = versions.length - 1; place > 0; place--) {
      const [before, after] = [versions[place - 1], versions[place]];
      if (before === undefined || after === undefined || after.storedAt < from) break;
      const at = rfc3339(after.storedAt);
      for (const { name, ...values } of factChanges(before.all, after.all)) {
        const one: ShownChange = { at, name: name.slice(0, maxValue), ...shortened(values) };
        bytes += Buffer.byteLength(JSON.stringify(one));
        if (changes.length === maxChanges || bytes > answerBytes) {
          return { changes, known_since, more: true as const };
        }
        changes.push(one);
      }
    }
    return { changes, known_since };
  },
});

function shortened({ before, after }: Pick<FactChange, "before" | "after">) {
  return {
    ...(before === undefined ? {} : { before: shorten(before, maxValue) }),
    ...(after === undefined ? {} : { after: shorten(after, maxValue) }),
  };
}
