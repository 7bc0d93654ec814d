import { expect, test } from "bun:test";
import { mayUseNext } from "./rotation.ts";

const has = { commandKeys: ["old", "next"], signsWith: "old" };
const lacks = { commandKeys: ["old"], signsWith: "old" };
const uses = { commandKeys: ["old", "next"], signsWith: "next" };
/** A master that has finished, and one that reports no keys. */
const finished = { commandKeys: ["next"], signsWith: "next" };
const silent = { commandKeys: [], signsWith: "" };

test.each([
  ["every peel has confirmed, and every master has it", [has], 0, true],
  ["this is the only master", [], 0, true],
  ["a peel has not confirmed", [has], 1, false],
  ["the fleet is not known yet", [has], undefined, false],
  ["a master lacks it", [has, lacks], 0, false],
  ["a master reports no keys", [silent], 0, false],
  ["another master uses it already", [has, uses], 1, true],
  ["another master has finished", [finished], undefined, true],
  ["another master uses it, and one lacks it", [uses, lacks], 0, false],
] as const)("the next key when %s", (_, others, unconfirmed, expected) => {
  expect(mayUseNext("next", others, unconfirmed)).toBe(expected);
});
