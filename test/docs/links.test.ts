import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { pages, readPage } from "./pages.ts";

const root = join(import.meta.dir, "../..");

/** The anchors that headings make, as GitHub names them. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

/** Links of a page that lead nowhere. */
function broken(page: string, text: string): string[] {
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
    ([link, path = "", anchor]) => {
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, target))) return [`${page}: ${link}`];
      const leads =
        anchor === undefined || anchorsOf(target === page ? text : readPage(target)).includes(anchor);
      return leads ? [] : [`${page}: ${link}`];
    },
  );
}

const folders = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && !entry.name.startsWith(".") && !isMade(entry.name) ? [entry.name] : [],
);

/** Whether it is no part of the repository: a build or an installation makes it. */
function isMade(name: string): boolean {
  return name === "dist" || name === "node_modules";
}

/** Files of the repository that a page names in backticks, and that do not exist; `*` and `<name>` match any name. */
function missing(page: string, text: string): string[] {
  return [...text.matchAll(/`([\w-]+)(\/[\w./<>*-]+\.[a-z]{1,5})`/g)].flatMap(
    ([, folder = "", rest = ""]) => {
      if (!folders.includes(folder)) return [];
      const pattern = `${folder}${rest}`.replaceAll(/<[^>]*>/g, "*");
      const [found] = new Bun.Glob(pattern).scanSync({ cwd: root, dot: true });
      return found === undefined ? [`${page}: ${folder}${rest}`] : [];
    },
  );
}

test("every link between pages leads somewhere", () => {
  expect(pages.flatMap((page) => broken(page, readPage(page)))).toEqual([]);
});

test("README has every page on its map, and the decisions have an index of their own", () => {
  const decisions = pages.filter((page) => page.startsWith("docs/decisions/0"));
  const others = pages.filter((page) => page !== "README.md" && !decisions.includes(page));
  expect(others.filter((page) => !readPage("README.md").includes(`(${page})`))).toEqual([]);
  const index = readPage("docs/decisions/index.md");
  expect(decisions.filter((page) => !index.includes(`(${page.slice("docs/decisions/".length)})`))).toEqual(
    [],
  );
});

test("a link to a page or a heading that is not there is found", () => {
  expect(
    broken("README.md", "[a](docs/bus.md) [b](docs/buss.md) [c](docs/bus.md#backup) [d](#nowhere)"),
  ).toEqual(["README.md: ](docs/buss.md)", "README.md: ](#nowhere)"]);
});

test("every file of the repository that a page names exists", () => {
  // The changelog names what was there at its time.
  const current = pages.filter((page) => page !== "CHANGELOG.md");
  expect(current.flatMap((page) => missing(page, readPage(page)))).toEqual([]);
});

test("a file that is not there is found", () => {
  expect(
    missing(
      "README.md",
      "`docs/bus.md` `docs/buss.md` `docs/*.md` `test/chaos/*.none` `dist/x.json` `srv/base/web.sls`",
    ),
  ).toEqual(["README.md: docs/buss.md", "README.md: test/chaos/*.none"]);
});
