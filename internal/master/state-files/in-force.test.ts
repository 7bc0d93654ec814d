import { expect, test } from "bun:test";
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
    held: new Map([["base", [published("9", "9")]]]),
  };
  const current = async () => (isPublished ? ({ catalog, statement: new Uint8Array() } as never) : undefined);
  return readInForce({ current, reread: current, latest: catalog } as Pick<
    CatalogView,
    "current" | "reread" | "latest"
  >);
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
  ["nowhere", "3333333", true],
])("the newest commit of %s: %s is %j", async (environment, commit, isNewest) => {
  expect(await inForce().isNewest(environment, commit)).toBe(isNewest);
});

test("before the first publication nobody can say which commit is the newest", async () => {
  await expect(inForce(false).isNewest("base", "3333333")).rejects.toMatchObject({ kind: "unavailable" });
});
