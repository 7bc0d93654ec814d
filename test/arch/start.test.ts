import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { carried, checkCarried, checkStart, starts } from "./start.ts";

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

test.each(carried)("$first carries no package that would only take memory", (one) => {
  const sources = readRepository();
  expect(sources.map(({ path }) => path)).toContain(one.first);
  expect(lines(checkCarried(sources, one))).toEqual([]);
});

test("a package that an executable would carry is found, also behind import()", () => {
  const planted = [
    { path: "cmd/svc-peel/main.ts", text: 'await import("./a.ts");' },
    { path: "cmd/svc-peel/a.ts", text: 'await import("@noble/curves/ed25519.js");\nimport "nats";' },
  ];
  const one = { first: "cmd/svc-peel/main.ts", never: ["@noble/curves"] };
  expect(lines(checkCarried(planted, one))).toEqual([
    "cmd/svc-peel/main.ts: carries @noble/curves/ed25519.js: cmd/svc-peel/main.ts -> cmd/svc-peel/a.ts",
  ]);
});
