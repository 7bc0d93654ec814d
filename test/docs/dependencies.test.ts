import { expect, test } from "bun:test";
import { dependencies, devDependencies } from "../../package.json";
import { vendors } from "../arch/vendors.ts";
import { checkGenerated } from "./generated.ts";
import { readPage } from "./pages.ts";

// docs/dependencies.md has each package of package.json once, and the folders that test/arch/vendors.ts has.
// `make reference` writes the folders; the rows are written by hand.

const quoted = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);

/** The rows of a section: the package, and the folders that its last column names. */
function rowsOf(page: string, heading: string): { name: string; cells: string[]; folders: string[] }[] {
  const section = page.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}\n`)) ?? "";
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .map((cells) => ({ name: quoted(cells[0])[0] ?? "", cells, folders: quoted(cells.at(-1)) }));
}

/** The page with the folders of the table in the last column of each runtime package. */
function withFolders(page: string): string {
  return page.replace(/^(\| `([^`]+)` \|.*\|) [^|]* \|$/gm, (row, cells: string, name: string) => {
    const folders = vendors[name];
    return folders === undefined ? row : `${cells} ${folders.map((one) => `\`${one}\``).join(", ")} |`;
  });
}

const page = withFolders(readPage("docs/dependencies.md"));
const runtime = rowsOf(page, "Runtime");
const development = rowsOf(page, "Development");

test("every package has a row, and every row a package", () => {
  expect(runtime.map(({ name }) => name)).toEqual(Object.keys(dependencies).sort());
  expect(development.map(({ name }) => name)).toEqual(Object.keys(devDependencies).sort());
});

test("the folders are those of test/arch/vendors.ts", () => checkGenerated("docs/dependencies.md", page));

test("every row says what for, what else was considered, and where it stays", () => {
  for (const { name, cells } of [...runtime, ...development]) {
    expect([name, cells.filter((cell) => cell === "")]).toEqual([name, []]);
  }
  for (const { name, folders } of runtime)
    expect([name, folders]).toEqual([name, [...(vendors[name] ?? [])]]);
});

test("a missing row and a wrong folder are found", () => {
  const [row] = rowsOf("## Runtime\n\n| `nats` | The client. | None. | `internal/jobs/` |\n", "Runtime");
  expect(row?.name).toBe("nats");
  expect(row?.folders).not.toEqual([...(vendors.nats ?? [])]);
});
