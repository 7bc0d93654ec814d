import { expect, test } from "bun:test";
import { scopes } from "../../internal/fleet/operation/scope.ts";
import { builtIn } from "../../internal/fleet/roles/built-in.ts";
import { readRoles } from "../../internal/fleet/roles/read-roles.ts";
import { readPage } from "./pages.ts";

const page = readPage("docs/roles.md");
/** The first two cells of each row of the table with this head, without the marks. */
const rowsBelow = (head: string) =>
  page
    .slice(page.indexOf(head))
    .split("\n\n")[0]
    ?.split("\n")
    .slice(2)
    .map((row) => row.split("|").map((cell) => cell.trim())) ?? [];
const words = (cell: string) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, word = ""]) => word);

test("the file on the page is one that masters accept", () => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { book } = readRoles(yaml, "roles.yaml");
  expect([...book.keys()].filter((name) => !builtIn.has(name))).toEqual(["web-team", "deployer"]);
  expect(book.get("deployer")?.jobs[0]).toMatchObject({ targets: "*", approvals: 1 });
});

test("the page names every built-in role, every kind and every action", () => {
  const named = rowsBelow("| Role | Allows |").map(([, name = ""]) => name.replaceAll("`", ""));
  expect(named).toEqual([...builtIn.keys()]);
  const kinds = rowsBelow("| Kind | Actions |").map(([, kind = "", actions = ""]) => [
    kind.replaceAll("`", ""),
    words(actions).filter((word) => word !== "functions" && word !== "targets"),
  ]);
  const expected = Object.entries(scopes).map(([kind, actions]) => [
    kind,
    (actions as readonly string[]).filter((action) => kind !== "jobs" || action !== "run"),
  ]);
  expect(kinds).toEqual(expected);
});
