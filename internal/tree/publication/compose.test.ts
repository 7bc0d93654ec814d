import { expect, test } from "bun:test";
import { contentsOf } from "../../../test/harness/contents.ts";
import type { SnapshotOrigin } from "../files/manifest.ts";
import { createComposer, type Layer } from "./compose.ts";

const nothing = { environments: () => [], originOf: () => undefined };
const publishedAs = (origins: Record<string, SnapshotOrigin>) => ({
  environments: () => Object.keys(origins),
  originOf: (name: string) => origins[name],
});
const directory = (files: Record<string, string>): Layer => ({
  environments: new Map([["base", { files: contentsOf(files) }]]),
  confirmed: true,
});
const commit = (digit: string) => digit.repeat(40);
const remote = (
  name: string,
  environments: Record<string, Record<string, string>>,
  confirmed = true,
): Layer => ({
  remote: name,
  environments: new Map(
    Object.entries(environments).map(([environment, files]) => [
      environment,
      { files: contentsOf(files), ref: `refs/heads/${environment}`, commit: commit("1") },
    ]),
  ),
  confirmed,
});
const textOf = async (files: ReturnType<typeof contentsOf>, path: string) => {
  for await (const piece of files.get(path)?.pieces() ?? []) return Buffer.from(piece).toString();
  return undefined;
};

test("the directory takes precedence over the repositories, which take precedence in their order", async () => {
  const { environments } = createComposer()(
    [
      directory({ a: "directory" }),
      remote("one", { base: { a: "one", b: "one" }, dev: { a: "dev of one" } }),
      remote("two", { base: { a: "two", b: "two", c: "two" }, dev: { a: "dev of two", d: "two" } }),
    ],
    nothing,
  );
  const [base, dev] = environments;
  if (base === undefined || dev === undefined) throw new Error("too few environments");
  expect([base.name, dev.name]).toEqual(["base", "dev"]);
  expect(await Promise.all(["a", "b", "c"].map((path) => textOf(base.files, path)))).toEqual([
    "directory",
    "one",
    "two",
  ]);
  expect(await textOf(dev.files, "a")).toBe("dev of one");
  expect(base.origin.directory).toBe(true);
  expect(base.origin.commits.map((origin) => origin.remote)).toEqual(["one", "two"]);
  expect(dev.origin.directory).toBe(false);
});

test("base always exists, and unchanged contents are the same map", () => {
  const compose = createComposer();
  expect(compose([], nothing).environments).toMatchObject([{ name: "base" }]);
  const layers = [directory({ a: "1" }), remote("one", { base: { b: "2" } })];
  const [first] = compose(layers, nothing).environments;
  expect(compose(layers, nothing).environments[0]?.files).toBe(first?.files as never);
});

test("an environment with a source that this master has never read is unchanged", () => {
  const origins = publishedAs({
    base: { directory: true, commits: [{ remote: "one", ref: "refs/heads/main", commit: commit("1") }] },
    dev: { directory: false, commits: [{ remote: "two", ref: "refs/heads/dev", commit: commit("2") }] },
  });
  const compose = createComposer();
  const two = remote("two", { dev: {} });
  const none = compose([directory({}), remote("one", {}, false), two], origins);
  expect(none.unchanged).toEqual(["base"]);
  expect(none.environments.map(({ name }) => name)).toEqual(["dev"]);
  // A local copy of exactly the published content is sufficient.
  const copy = compose([directory({}), remote("one", { base: { a: "1" } }, false), two], origins);
  expect(copy.unchanged).toEqual([]);
  // A directory that cannot be read does not count as empty.
  const unreadable = { environments: new Map(), confirmed: false };
  expect(compose([unreadable, remote("one", { base: {} }), two], origins).unchanged).toEqual(["base"]);
  // A repository that was never part of an environment does not block it.
  expect(
    compose([directory({}), remote("one", { base: {} }), two, remote("three", {}, false)], origins).unchanged,
  ).toEqual([]);
});

test("an environment that a source has but cannot give stays as published, or is made of the others", () => {
  const origins = publishedAs({
    dev: { directory: false, commits: [{ remote: "one", ref: "refs/heads/dev", commit: commit("1") }] },
  });
  const held = { ...remote("one", { base: {} }), held: new Set(["dev", "new"]) };
  const two = remote("two", { dev: { a: "1" }, new: { a: "1" } });
  const found = createComposer()([directory({}), held, two], origins);
  expect(found.unchanged).toEqual(["dev"]);
  expect(found.environments.map(({ name }) => name)).toEqual(["base", "new"]);
});

test("while a source is read, what was read of it counts already", () => {
  const origins = publishedAs({
    base: { directory: false, commits: [{ remote: "one", ref: "refs/heads/main", commit: commit("2") }] },
    dev: { directory: false, commits: [{ remote: "one", ref: "refs/heads/dev", commit: commit("2") }] },
  });
  const layer = { ...remote("one", { base: { a: "1" } }), confirmed: new Set(["base"]) };
  const found = createComposer()([layer], origins);
  expect(found.unchanged).toEqual(["dev"]);
  expect(found.environments.map(({ name }) => name)).toEqual(["base"]);
});
