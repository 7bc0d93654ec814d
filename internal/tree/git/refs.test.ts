import { expect, test } from "bun:test";
import { branchesIn, chooseRefs, parseRefs, type RefChoice } from "./refs.ts";

const head = (name: string) => `refs/heads/${name}`;
const tag = (name: string) => `refs/tags/${name}`;
const all = { environments: ["*"], tags: ["*"] };

function chosen(names: readonly string[], choice: Partial<RefChoice> = {}) {
  const warnings: string[] = [];
  const refs = names.map((name) => ({ name, object: "0".repeat(40) }));
  const found = chooseRefs(refs, { base: "main", environments: [], tags: [], ...choice }, warnings);
  return { names: Object.fromEntries(found.map(({ environment, name }) => [environment, name])), warnings };
}

test("without patterns only the configured branch is an environment, whatever else there is", () => {
  const refs = [head("main"), head("master"), head("base"), head("dev"), tag("base"), tag("v1"), tag("main")];
  expect(chosen(refs)).toEqual({ names: { base: head("main") }, warnings: [] });
  expect(chosen(refs, { base: "master" }).names).toEqual({ base: head("master") });
});

test("no other branch replaces the configured one", () => {
  for (const other of ["master", "base", "Main", "main2", "x/main"]) {
    expect(chosen([head(other)]).names).toEqual({});
  }
  expect(chosen([tag("main")], all).names).toEqual({});
  expect(chosen([head("master"), head("main")], { base: "master" }).names).toEqual({ base: head("master") });
});

test("a branch or tag called base never becomes an environment, unless it is the configured branch", () => {
  const refs = [head("base"), tag("base")];
  const { names, warnings } = chosen([head("main"), ...refs], all);
  expect(names).toEqual({ base: head("main") });
  expect(warnings).toHaveLength(2);
  expect(chosen(refs, all).names).toEqual({});
  expect(chosen(refs, { ...all, base: "base" }).names).toEqual({ base: head("base") });
  expect(chosen([tag("base")], { ...all, base: "base" }).names).toEqual({});
});

test("the base branch is only base, and patterns name others, also across slashes", () => {
  const refs = ["main", "dev", "release/1", "release/1/hotfix", "feature/x"].map(head);
  expect(
    chosen([...refs, tag("v1"), tag("w1")], { environments: ["release/*", "d?v"], tags: ["v[0-9]"] }).names,
  ).toEqual({
    base: head("main"),
    dev: head("dev"),
    "release/1": head("release/1"),
    "release/1/hotfix": head("release/1/hotfix"),
    v1: tag("v1"),
  });
  expect(chosen(refs, all).names).not.toHaveProperty("main");
});

test("of a branch and a tag of one name the branch counts, if a pattern names it", () => {
  const refs = [tag("v1"), head("v1")];
  const both = chosen(refs, all);
  expect(both.names).toEqual({ v1: head("v1") });
  expect(both.warnings).toHaveLength(1);
  expect(chosen(refs, { tags: ["*"] }).names).toEqual({ v1: tag("v1") });
});

test("a name that no environment may have is left out with a warning, if a pattern names it", () => {
  expect(chosen([head("ä"), head("ü")], { environments: ["ä"] }).warnings).toHaveLength(1);
});

test("lines of ls-remote other than branches and tags are passed over", () => {
  const id = "a".repeat(40);
  const text = `${id}\trefs/heads/main\n${id}\trefs/tags/v1\n${id}\trefs/tags/v1^{}\n${id}\tHEAD\n${id}\trefs/pull/1/head\nx\trefs/heads/y\n`;
  expect(parseRefs(text)).toEqual([
    { object: id, name: head("main") },
    { object: id, name: tag("v1") },
  ]);
});

test("the branches of a repository are named, at most five of them", () => {
  const refs = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ name: head(name), object: "" }));
  expect(branchesIn(refs)).toBe("its branches are a, b, c, d, e and 2 more");
  expect(branchesIn([{ name: tag("v1"), object: "" }])).toBe("it has no branches");
});
