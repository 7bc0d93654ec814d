import { expect, test } from "bun:test";
import { commandsFor } from "./commands.ts";
import { holdersOf } from "./holders.ts";

const anna = { name: "anna", state: "active", administrator: false };
const session = (...actions: string[]) => ({
  may: (kind: string, action: string) => kind === "operators" && actions.includes(action),
});
const titles = (operator: typeof anna, ...actions: string[]) =>
  commandsFor(operator, session(...actions)).map(({ command }) => command);

test("only the changes that roles allow are offered, as commands", () => {
  expect(titles(anna, "roles", "disable", "enable", "remove")).toEqual([
    "svc operator roles anna ROLE",
    "svc operator disable anna",
    "svc operator remove anna",
  ]);
  expect(titles({ ...anna, state: "disabled" }, "disable", "enable")).toEqual(["svc operator enable anna"]);
  expect(titles(anna, "list", "show")).toEqual([]);
  expect(titles({ ...anna, administrator: true }, "roles", "remove")).toEqual([]);
  expect(titles({ ...anna, administrator: true }, "administrators")).toHaveLength(1);
});

test("each role names who has it; tokens that ended do not count", () => {
  expect(
    holdersOf(
      [
        { name: "anna", roles: ["viewer"] },
        { name: "bob", roles: ["admin", "viewer"] },
      ],
      [
        { name: "ci", state: "live", roles: ["viewer"] },
        { name: "old", state: "revoked", roles: ["admin"] },
      ],
    ),
  ).toEqual([
    { role: "admin", operators: ["bob"], tokens: [] },
    { role: "viewer", operators: ["anna", "bob"], tokens: ["ci"] },
  ]);
});
