import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { everyTarget } from "../../release/every-target.ts";

// A target that nobody runs rots unseen.

const makefile = readFileSync(join(import.meta.dir, "..", "..", "Makefile"), "utf8");

interface Rule {
  name: string;
  /** Names in its prerequisites and its recipe. */
  uses: ReadonlySet<string>;
  isListed: boolean;
}

/** The phony targets of a makefile, with what each of them uses. */
function rulesOf(text: string): Rule[] {
  const variables = new Map(
    [...text.matchAll(/^([A-Z]+) [:?]?= (.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const expand = (part: string) =>
    part.replaceAll(/\$\(([A-Z]+)\)/g, (_, name: string) => variables.get(name) ?? "");
  const names = new Set(
    [...text.matchAll(/^\.PHONY: (.*)$/gm)].flatMap(([, listed = ""]) => expand(listed).split(" ")),
  );
  return [...names].map((name) => {
    const [, head = "", recipe = ""] = new RegExp(`^${name}:(.*)\n((?:\t.*\n)*)`, "m").exec(text) ?? [];
    const [prerequisites = "", help] = head.split("##");
    return {
      name,
      uses: new Set(expand(`${prerequisites} ${recipe}`).split(/\s+/)),
      isListed: help !== undefined,
    };
  });
}

/** What is wrong with a list of targets for a makefile. */
function problems(text: string, runs: readonly string[]): string[] {
  const rules = rulesOf(text);
  const isUsed = (name: string) => rules.some((rule) => rule.isListed && rule.uses.has(name));
  return [
    ...rules
      .filter(({ name, isListed }) => isListed && !runs.includes(name))
      .map(({ name }) => `${name} is missing`),
    ...rules
      .filter(({ name, isListed }) => !isListed && !isUsed(name))
      .map(({ name }) => `nothing uses ${name}`),
    ...runs
      .filter((name) => !rules.some((rule) => rule.name === name))
      .map((name) => `${name} does not exist`),
  ];
}

const runs = everyTarget.map(({ target }) => target);

test("make everything knows every target of the Makefile, once", () => {
  expect(problems(makefile, runs)).toEqual([]);
  expect(runs.length).toBe(new Set(runs).size);
  expect(runs.length).toBeGreaterThan(20);
});

test("a target that is added, unused or gone is found", () => {
  const more = `${makefile}\n.PHONY: rotting\nrotting: build ## Rot unseen.\n\t@true\n\n.PHONY: alone\nalone:\n\t@true\n`;
  expect(problems(more, [...runs, "gone"])).toEqual([
    "rotting is missing",
    "nothing uses alone",
    "gone does not exist",
  ]);
});
