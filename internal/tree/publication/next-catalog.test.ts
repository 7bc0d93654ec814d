import { expect, test } from "bun:test";
import { contentsOf } from "../../../test/harness/contents.ts";
import { type Catalog, decodeCatalog, emptyCatalog, encodeCatalog, keptSnapshots } from "../files/catalog.ts";
import { snapshotOf } from "../files/snapshot.ts";
import { encodeOnce } from "./encode-environment.ts";
import { nextCatalog } from "./next-catalog.ts";

const filesOf = (text: string) => contentsOf({ text });
const digestOf = (text: string) => snapshotOf(filesOf(text));
const encoded = (text: string, commit = "1") => {
  const commits = [{ remote: "r", ref: "refs/heads/main", commit: commit.repeat(40) }];
  const one = { name: "base", origin: { directory: false, commits }, files: filesOf(text) };
  return { name: one.name, ...encodeOnce(new Map(), one) };
};

/** What is in force, and what waits since when. */
const shown = ({ environments, candidates }: Catalog) => ({
  inForce: environments.get("base")?.[0]?.snapshot,
  waits: candidates.get("base")?.map(({ snapshot, since }) => [snapshot, since]),
});

function fleet() {
  let catalog = emptyCatalog();
  let now = 0;
  const go = (steps: Partial<Parameters<typeof nextCatalog>[1]>) => {
    const others = { publish: [], unchanged: ["base"], restore: new Map(), offer: [], waiting: [] };
    const { next, changed } = nextCatalog(catalog, { ...others, held: new Set(), now: ++now, ...steps });
    // As it is stored.
    catalog = decodeCatalog(encodeCatalog(next));
    expect(catalog).toEqual(next);
    return { ...shown(catalog), changed };
  };
  return {
    go,
    since: () => catalog.environments.get("base")?.[0]?.since,
    publish: (text: string) => go({ publish: [encoded(text)] }),
    offer: (text: string, commit?: string) => go({ offer: [encoded(text, commit)], waiting: ["base"] }),
    release: (text: string) => go({ restore: new Map([["base", digestOf(text)]]), waiting: ["base"] }),
  };
}

test("candidates wait, the newest first, since they were found, and nothing is in force before", () => {
  const { offer, go } = fleet();
  offer("a");
  expect(offer("b")).toEqual({
    ...{ inForce: undefined, changed: [] },
    waits: [
      [digestOf("b"), 2],
      [digestOf("a"), 1],
    ],
  });
  // The same files of another commit, and files that come back.
  offer("b", "2");
  expect(offer("a").waits).toEqual([
    [digestOf("a"), 1],
    [digestOf("b"), 2],
  ]);
  expect(go({ waiting: ["base"] }).waits).toHaveLength(2);
  expect(go({}).waits).toBeUndefined();
});

test("a release brings a candidate into force; what is newer waits on, and what is older goes", () => {
  const { publish, offer, release } = fleet();
  publish("a");
  for (const text of ["b", "c", "d"]) offer(text);
  expect(release("c")).toEqual({ inForce: digestOf("c"), waits: [[digestOf("d"), 4]], changed: ["base"] });
  expect(release("c").changed).toEqual([]);
  // Back to what was in force before, and to what is stored nowhere.
  expect(release("a").inForce).toBe(digestOf("a"));
  expect(release("never").inForce).toBe(digestOf("a"));
});

test("of many candidates the last ones stay, and what something names is held", () => {
  const { offer, go } = fleet();
  for (let at = 0; at < keptSnapshots + 3; at++) offer(`${at}`);
  const { waits = [] } = go({ waiting: ["base"] });
  expect(waits).toHaveLength(keptSnapshots);
  const held = new Set([digestOf("5")]);
  expect(go({ held }).waits).toBeUndefined();
  expect(go({ held, restore: new Map([["base", digestOf("5")]]) }).inForce).toBe(digestOf("5"));
});

test("what is in force says since when, also after other environments changed", () => {
  const { go, publish, since } = fleet();
  publish("a");
  expect(since()).toBe(1);
  publish("a");
  go({ unchanged: ["base"] });
  expect(since()).toBe(1);
  publish("b");
  expect(since()).toBe(4);
  // Back again: that is a new time.
  publish("a");
  expect(since()).toBe(5);
});
