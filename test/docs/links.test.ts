import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const root = join(import.meta.dir, "../..");
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];
const read = (page: string) => readFileSync(join(root, page), "utf8");

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
      const leads = anchor === undefined || anchorsOf(target === page ? text : read(target)).includes(anchor);
      return leads ? [] : [`${page}: ${link}`];
    },
  );
}

test("every link between pages leads somewhere", () => {
  expect(pages.flatMap((page) => broken(page, read(page)))).toEqual([]);
});

test("README has every page on its map", () => {
  const map = read("README.md");
  expect(pages.slice(1).filter((page) => !map.includes(`(${page})`))).toEqual([]);
});

test("a link to a page or a heading that is not there is found", () => {
  expect(
    broken("README.md", "[a](docs/bus.md) [b](docs/buss.md) [c](docs/bus.md#backup) [d](#nowhere)"),
  ).toEqual(["README.md: ](docs/buss.md)", "README.md: ](#nowhere)"]);
});
