import { expect, test } from "bun:test";
import fc from "fast-check";
import { targetIn, withAlias } from "./alias.ts";

const text = "# mail\nroot: ann\nweb:\tann,\n  bob\nops : |/bin/x\n";

test.each([
  ["root", "ann"],
  ["web", "ann, bob"],
  ["ops", "|/bin/x"],
  ["mail", undefined],
  ["ro", undefined],
])("the target of %s is %s", (name, target) => {
  expect(targetIn(text, name)).toBe(target as string);
});

test("an alias is replaced in its place with all its lines, added at the end, and removed", () => {
  expect(withAlias(text, "web", "eve")).toBe("# mail\nroot: ann\nweb: eve\nops : |/bin/x\n");
  expect(withAlias(text, "web", undefined)).toBe("# mail\nroot: ann\nops : |/bin/x\n");
  expect(withAlias("a: b", "c", "d")).toBe("a: b\nc: d\n");
  expect(withAlias("a: b\na: c\n", "a", "d")).toBe("a: d\n");
});

test("what is set is read back, and the other aliases stay", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}$/);
  const target = fc.stringMatching(/^[a-z|/][a-z0-9/@., -]{0,20}[a-z]$/);
  fc.assert(
    fc.property(fc.dictionary(name, target), name, target, (before, one, fresh) => {
      const written = Object.entries(before).reduce((all, [each, its]) => withAlias(all, each, its), "# x\n");
      const changed = withAlias(written, one, fresh);
      expect(targetIn(changed, one)).toBe(fresh);
      for (const [each, its] of Object.entries(before))
        if (each !== one) expect(targetIn(changed, each)).toBe(its);
    }),
  );
});
