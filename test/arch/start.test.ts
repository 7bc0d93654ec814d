import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { checkStart, starts } from "./start.ts";

test.each(starts)("a package is loaded when something needs it: $first", (start) => {
  const sources = readRepository();
  expect(sources.map(({ path }) => path)).toContain(start.first);
  expect(lines(checkStart(sources, start))).toEqual([]);
});

test("a package that every start would load is found; types and import() load nothing", () => {
  const text = 'import { a } from "./a.ts";\nimport type { B } from "./b.ts";\nawait import("./c.ts");';
  const planted = ["a", "b", "c"].map((name) => ({
    path: `cmd/svc/${name}.ts`,
    text: `import "nats/${name}";`,
  }));
  const start = { first: "cmd/svc/main.ts", packages: [] };
  expect(lines(checkStart([{ path: start.first, text }, ...planted], start))).toEqual([
    "cmd/svc/main.ts: loads nats/a at every start: cmd/svc/main.ts -> cmd/svc/a.ts",
  ]);
});
