import { describe, expect, test } from "bun:test";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";

/** npm 9, which lists packages as this JSON, and exits with 1 when one is missing. */
function host(have: Record<string, string | undefined> = {}, installs = true): SystemFixture {
  const packages = new Map(Object.entries(have));
  return {
    programs: ["npm", "gem"],
    answer([program, verb, ...argv]) {
      if (program === "gem") return gem(verb ?? "", argv, packages, installs);
      if (verb === "list") {
        const missing = { required: "^1.3.0", missing: true, problems: ["missing: left-pad@^1.3.0"] };
        const rows = [...packages].map(([name, version]) => [
          name,
          version === undefined ? missing : { version },
        ]);
        const stdout = JSON.stringify({ name: "lib", dependencies: Object.fromEntries(rows) });
        return { stdout, code: [...packages.values()].includes(undefined) ? 1 : 0 };
      }
      const names = argv.filter((word) => !word.startsWith("--"));
      if (verb === "uninstall") for (const each of names) packages.delete(each);
      if (verb !== "install" || !installs) return {};
      for (const [name, version] of packages) packages.set(name, version ?? "1.3.0");
      for (const each of names)
        packages.set(each.replace(/(?<=.)@.*/, ""), /(?<=.)@(.*)/.exec(each)?.[1] ?? "9.9.9");
      return {};
    },
  };
}

/** gem 3.3, and its list of one gem. */
function gem(verb: string, argv: string[], packages: Map<string, string | undefined>, installs: boolean) {
  const [name = ""] = argv;
  if (verb === "list") {
    const version = packages.get((argv[1] ?? "").slice(1, -1));
    return { stdout: version === undefined ? "\n" : `${(argv[1] ?? "").slice(1, -1)} (${version})\n` };
  }
  if (verb === "install" && installs)
    packages.set(name, `${argv[argv.indexOf("--version") + 1] ?? ""}`.replace(name, "3.0"));
  if (verb === "uninstall") packages.delete(name);
  return {};
}

const common = "--no-audit --no-fund --loglevel=error";

describe("npm.installed", () => {
  test("installs what is missing, and the version that is given", async () => {
    const { changes, ran } = await settleState(
      host({ express: "4.17.0", pm2: "5.0.0" }),
      "npm.installed",
      "x",
      {
        pkgs: ["express@4.18.2", "pm2", "@scope/tool"],
        registry: "https://npm.example.com/",
      },
    );
    expect(changes).toEqual({
      express: { old: "4.17.0", new: "4.18.2" },
      "@scope/tool": { old: "", new: "latest" },
    });
    expect(ran[0]).toBe(
      `npm install --global ${common} --registry=https://npm.example.com/ express@4.18.2 @scope/tool`,
    );
  });

  test("installs into a directory", async () => {
    const { ran } = await settleState(host(), "npm.installed", "left-pad", { dir: "/srv/app" });
    expect(ran[0]).toBe(`npm install --prefix=/srv/app ${common} left-pad`);
  });

  test("fails when npm did nothing", async () => {
    expect(await failureOf(host({}, false), "npm.installed", "pm2")).toBe(
      "npm ran, but pm2 is not installed",
    );
  });
});

test("npm.bootstrap installs what package.json names", async () => {
  const { changes, ran } = await settleState(host({ "left-pad": undefined }), "npm.bootstrap", "/srv/app");
  expect(changes).toEqual({ "/srv/app": { installed: ["left-pad"] } });
  expect(ran).toEqual([`npm install --prefix=/srv/app ${common}`]);
});

test("npm.removed removes a package", async () => {
  const { ran } = await settleState(host({ pm2: "5.0.0" }), "npm.removed", "pm2");
  expect(ran).toEqual([`npm uninstall --global ${common} pm2`]);
});

describe("gem", () => {
  test("installs a version once", async () => {
    const { changes, ran } = await settleState(host(), "gem.installed", "json", { version: "2.6.1" });
    expect(changes).toEqual({ json: { old: "", new: "2.6.1" } });
    expect(ran[0]).toBe("gem install json --no-document --version 2.6.1");
  });

  test("keeps a default gem", async () => {
    const have = { json: "2.6.1, default: 2.3.0 ruby" };
    expect((await settleState(host(have), "gem.installed", "json", { version: "2.3.0" })).changes).toEqual(
      {},
    );
  });

  test("removes all versions", async () => {
    const { ran } = await settleState(host({ json: "2.6.1, 2.5.0" }), "gem.removed", "json");
    expect(ran[0]).toBe("gem uninstall json --all --executables");
    expect((await settleState(host({ json: "default: 2.6.1" }), "gem.removed", "json")).changes).toEqual({});
  });
});

test.each([
  ["npm.installed", "--global", "is not a package of npm"],
  ["npm.installed", "https://evil.example/x.tgz", "is not a package of npm"],
  ["gem.installed", "-x", "is not the name of a gem"],
  ["npm.bootstrap", "app", "the name of the state is an absolute path"],
])("%s refuses %p", async (called, name, message) => {
  expect(await failureOf(host(), called, name)).toContain(message);
});

test("a source with credentials is refused, because arguments of programs are public", async () => {
  const registry = "https://ann:pw@npm.example.com/";
  expect(await problemsOf("npm.installed", { registry })).toContain("without credentials");
  expect(await problemsOf("gem.installed", { source: registry })).toContain("without credentials");
  expect(await failureOf({}, "npm.installed", "x")).toContain("npm is not installed");
  expect(await failureOf({}, "gem.installed", "x")).toContain("gem is not installed");
});
