import { expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { checkStart } from "./start.ts";

test("svc loads a package when a command needs it", () => {
  expect(lines(checkStart(readRepository()))).toEqual([]);
});

test("a package that every start would load is found; types and import() load nothing", () => {
  const text = 'import { a } from "./a.ts";\nimport type { B } from "./b.ts";\nawait import("./c.ts");';
  const planted = ["a", "b", "c"].map((name) => ({
    path: `cmd/svc/${name}.ts`,
    text: `import "nats/${name}";`,
  }));
  expect(lines(checkStart([{ path: "cmd/svc/main.ts", text }, ...planted]))).toEqual([
    "cmd/svc/main.ts: loads nats/a at every start: cmd/svc/main.ts -> cmd/svc/a.ts",
  ]);
});
