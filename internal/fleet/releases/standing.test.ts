import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { releaseStandings } from "./standing.ts";

const release = (environment: string, version: number, snapshot: string) => ({
  release: { environment, version, snapshot, operator: "anna", key: "UANNA" } as never,
  bytes: new Uint8Array(),
});
const newest = new Map([
  ["base", release("base", 7, "aa")],
  ["dev", release("dev", 1, "bb")],
  ["gone", release("gone", 2, "cc")],
]);
const releases = { environments: () => [...newest.keys()], newest: (name: string) => newest.get(name) };
const content = (environment: string, snapshot: string) => ({
  content: { environment, commit: "local", snapshot },
});
const standing = (list: () => Promise<ReturnType<typeof content>[]>) =>
  releaseStandings({ releases, list, endOf: (name, key) => (name === "anna" && key === "UANNA" ? 5 : 0) });

test("what is in force is released, or waits; what is not published waits for nothing", async () => {
  const by = { operator: "anna", endsAt: 5 };
  const found = await standing(async () => [
    content("base", "ff"),
    content("dev", "bb"),
    content("new", "dd"),
  ]);
  expect(found).toEqual([
    { environment: "base", isReleased: false, version: 7, ...by },
    { environment: "dev", isReleased: true, version: 1, ...by },
    { environment: "gone", isReleased: true, version: 2, ...by },
    { environment: "new", isReleased: false },
  ]);
});

test("before the first publication nothing waits", async () => {
  const found = await standing(() => Promise.reject(new SvcError("unavailable", "nothing is published")));
  expect(found.map(({ isReleased }) => isReleased)).toEqual([true, true, true]);
});
