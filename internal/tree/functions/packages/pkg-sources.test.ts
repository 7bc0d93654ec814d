import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";

const status = (...names: string[]) =>
  names.map((name) => `Package: ${name}\nStatus: install ok installed\nVersion: 1\n`).join("\n");
const list = "/var/lib/dpkg/status";

test("a package file is installed from a private copy, once", async () => {
  using directory = temporaryDirectory("package");
  const source = join(directory.path, "tool_1.deb");
  writeFileSync(source, "content");
  const seen: string[] = [];
  const fixture: SystemFixture = {
    programs: ["apt-get"],
    files: { [list]: status("base") },
    answer(argv) {
      const path = argv.at(-1) ?? "";
      if (argv.includes("install")) {
        seen.push(path.replace(/.*\//, ""), readFileSync(path, "utf8"));
        system.write(list, status("base", "tool"));
      }
      return {};
    },
  };
  const args = { sources: [{ base: "/gone.deb" }, { tool: source }] };
  const { system, plan } = await planOn(fixture, "pkg.installed", "x", args);
  expect(plan.changes).toEqual({ tool: { old: "", new: source } });
  expect(system.ran).toEqual([]);
  expect(await plan.apply?.()).toEqual({
    changes: { tool: { old: "", new: "1" } },
    comment: "installed: tool",
  });
  expect(seen).toEqual(["tool.deb", "content"]);
  const [ran = ""] = system.ran;
  expect(existsSync(ran.split(" ").at(-1) ?? "")).toBe(false);
  const again = await planOn(
    { ...fixture, files: { [list]: status("base", "tool") } },
    "pkg.installed",
    "x",
    args,
  );
  expect(again.plan.changes).toEqual({});
});

test("a file with another package in it is a failure", async () => {
  using directory = temporaryDirectory("package");
  const source = join(directory.path, "other.deb");
  writeFileSync(source, "content");
  const { plan } = await planOn({ programs: ["apt-get"] }, "pkg.installed", "x", {
    sources: [{ tool: source }],
  });
  await expect(plan.apply?.()).rejects.toThrow("tool: the files are packages of other names");
});

test("a package manager that takes no files is named", async () => {
  const args = { sources: [{ tool: "/x.apk" }] };
  await expect(planOn({ programs: ["apk"] }, "pkg.installed", "x", args)).rejects.toThrow("apk");
});

test.each([
  [{ sources: "x" }, "sources: expected a list"],
  [{ sources: [{ a: 1 }] }, "sources: expected a list"],
  [{ sources: [{ a: "/x" }], pkgs: ["b"] }, "give only one of pkgs, sources"],
  [{ sources: [{ "../a": "/x" }] }, "is not a valid package name"],
  [{ sources: [{ a: "http://x/y.deb" }] }, "http://"],
])("%j is refused", async (args, message) => {
  expect(await problemsOf("pkg.installed", args)).toContain(message);
});
