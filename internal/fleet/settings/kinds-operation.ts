import * as v from "valibot";
import { isPeelId } from "../../base/names/peel-id.ts";
import { described, integer, plainMap, titled } from "../../base/schema.ts";
import type { Directory } from "../enrollment/store/mod.ts";
import { operation } from "../operation/mod.ts";
import type { KindsReader } from "./kinds.ts";

/** Where a master knows the kinds of its peels. */
export interface KindsDeps {
  directory: Pick<Directory, "caughtUp">;
  kinds: KindsReader;
}

const kind = titled(
  "PeelKind",
  v.object({
    peel_id: described(v.string(), "One of the peels, encoded"),
    peels: described(integer, "How many there are"),
    labels: described(v.record(v.string(), v.string()), "Labels, which all of them have"),
    settings: v.exactOptional(
      described(
        plainMap,
        "The settings of this one, with random tokens in place of secrets; absent when they cannot be compiled",
      ),
    ),
  }),
);

export const listKinds = operation({
  name: "settings.kinds",
  kind: "read",
  summary: "List the kinds of peels, for which files are checked",
  description:
    "Peels of one kind have the same system, the same labels, and settings with the same names and types. Of a secret list or map, the number of items and the names are shown.",
  scope: { kind: "settings", action: "render" },
  input: v.strictObject({
    cursor: v.optional(
      described(
        v.pipe(v.string(), v.check(isPeelId, "must be the value that the previous page returned")),
        "Where the page starts, from the previous page",
      ),
    ),
  }),
  output: v.object({
    kinds: v.array(kind),
    left: described(integer, "Peels of kinds that are too many, or that were not read in time"),
    next: v.exactOptional(v.string()),
  }),
  async run({ directory, kinds }: KindsDeps, { cursor = "" }, { answerBytes = Number.POSITIVE_INFINITY }) {
    await directory.caughtUp();
    const found = await kinds.read();
    const sorted = found.kinds
      .filter(({ peelId }) => peelId > cursor)
      .sort((a, b) => (a.peelId < b.peelId ? -1 : 1));
    const page: v.InferOutput<typeof kind>[] = [];
    let bytes = 0;
    for (const { peelId, peels, labels, settings } of sorted) {
      const shown = { peel_id: peelId, peels, labels };
      const item = settings === undefined ? shown : { ...shown, settings: { ...settings } };
      bytes += Buffer.byteLength(JSON.stringify(item));
      const last = page.at(-1);
      if (last !== undefined && bytes > answerBytes) {
        return { kinds: page, left: found.left, next: last.peel_id };
      }
      page.push(item);
    }
    return { kinds: page, left: found.left };
  },
});
