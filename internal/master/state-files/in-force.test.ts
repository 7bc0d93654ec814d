import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { type Catalog, emptyCatalog } from "../../tree/files/mod.ts";
import type { CatalogView } from "../../tree/publication/mod.ts";
import { readInForce } from "./in-force.ts";

const published = (digit: string, commit?: string) => ({
  manifest: digit.repeat(64),
  snapshot: digit.repeat(64),
  origin: {
    directory: commit === undefined,
    commits: commit === undefined ? [] : [{ remote: "", ref: "", commit: commit.repeat(40) }],
  },
});

function inForce(isPublished = true) {
  const catalog = {
    environments: new Map([
      [
        "base",
        [published("c", "3"), published("b", "2"), { ...published("c", "1"), manifest: "d".repeat(64) }],
      ],
      ["local", [published("e")]],
    ]),
    candidates: new Map([
      ["base", [{ ...published("a", "a"), since: 0 }]],
      ["new", [{ ...published("a", "a"), since: 0 }]],
    ]),
    held: new Map([["base", [published("9", "9")]]]),
  };
  const current = async () => (isPublished ? ({ catalog, statement: new Uint8Array() } as never) : undefined);
  const clock = manualClock();
  return readInForce(
    { current, reread: current, latest: catalog } as Pick<CatalogView, "current" | "reread" | "latest">,
    { clock, named: async () => new Set<string>() },
  );
}

test.each<[environment: string, commit: string, isNewest: boolean]>([
  ["base", "3333333", true],
  ["base", "2222222", false],
  // An earlier commit with the same files brings nothing back.
  ["base", "1111111", true],
  ["base", "4444444", false],
  // What is only held for a request that waits is not published for others.
  ["base", "9999999", false],
  ["local", "3333333", false],
  // What waits for a release is not what its environment has, also before there is anything.
  ["base", "aaaaaaa", false],
  ["new", "aaaaaaa", false],
  ["nowhere", "3333333", true],
])("the newest commit of %s: %s is %j", async (environment, commit, isNewest) => {
  expect(await inForce().isNewest(environment, commit)).toBe(isNewest);
});

test("before the first publication nobody can say which commit is the newest", async () => {
  await expect(inForce(false).isNewest("base", "3333333")).rejects.toMatchObject({ kind: "unavailable" });
});

test("what runs files waits for the first publication, and not for ever", async () => {
  const clock = manualClock();
  const empty = emptyCatalog();
  const full = { ...empty, environments: new Map([["base", [published("c", "3")]]]) };
  const found: { catalog: Catalog } = { catalog: empty };
  const current = async () => ({ ...found, statement: new Uint8Array() }) as never;
  const files = readInForce(
    { current, reread: current, latest: undefined },
    { clock, named: async () => undefined },
  );
  const never = files.resolve({ environment: "base" });
  await expect(clock.until(never, 10_000)).rejects.toMatchObject({ kind: "unavailable" });
  const soon = files.resolve({ environment: "base" });
  found.catalog = full;
  expect(await clock.until(soon, 10_000)).toMatchObject({ environment: "base", snapshot: "c".repeat(64) });
});
