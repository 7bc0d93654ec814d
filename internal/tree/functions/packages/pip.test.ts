import { describe, expect, test } from "bun:test";
import { planOn, problemsOf, refusal } from "../../../../test/harness/planned-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";
import { isSatisfied, parseRequirement } from "./requirement.ts";

test.each<[string, string, boolean]>([
  ["toml", "0.10.2", true],
  ["toml==0.10.2", "0.10.2", true],
  ["toml == 0.10", "0.10.0", true],
  ["toml==0.10.*", "0.10.9", true],
  ["toml!=0.10.*", "0.10.9", false],
  ["toml>=1,<2", "1.9.1", true],
  ["toml>=1,<2", "2.0", false],
  ["toml~=1.4.2", "1.4.9", true],
  ["toml~=1.4.2", "1.5", false],
  ["toml<2", "2.0rc1", true],
  ["toml>=1.0", "1.0.dev3", false],
  ["toml>1.0", "1.0.post1", true],
  ["toml>=2a1", "2a2", true],
  ["toml>9", "10", true],
  ["toml==1.2", "1.2+debian1", true],
  ["toml>=1!1", "2", false],
  ["Requests[socks] >= 2", "2.31", true],
])("%s is fulfilled by %s: %p", (text, version, expected) => {
  const requirement = parseRequirement(text);
  expect(requirement && isSatisfied(requirement, version)).toBe(expected);
});

test("addresses, paths and markers are not compared", () => {
  for (const text of ["git+https://x/y", "./x.whl", "a; python_version < '3'", "a @ https://x/y"]) {
    expect(parseRequirement(text)).toBeUndefined();
  }
  expect(parseRequirement("Zope.Interface_x")?.name).toBe("zope-interface-x");
});

/** A host whose pip has these packages, and installs what is requested. */
function host(installed: Record<string, string>, files: Record<string, string> = {}): SystemFixture {
  const packages = { ...installed };
  return {
    files,
    programs: ["pip3"],
    answer([, ...argv]) {
      if (argv[0] === "list") {
        const outdated = argv.includes("--outdated");
        const list = Object.entries(packages).map(([name, version]) => ({
          name,
          version,
          latest_version: "9",
        }));
        return {
          stdout: `${JSON.stringify(outdated ? list.filter(({ version }) => version !== "9") : list)}\n`,
        };
      }
      if (argv[0] === "install")
        for (const each of argv.slice(1)) packages[each.replace(/[^\w-].*$/, "")] = "9";
      if (argv[0] === "uninstall") for (const each of argv.slice(2)) delete packages[each];
      return {};
    },
  };
}

describe("packages", () => {
  test("only what is missing or does not fit is installed, and the result says what changed", async () => {
    const pkgs = ["toml", "six>=2", "new"];
    const { plan, system } = await planOn(host({ toml: "1", six: "1" }), "pip.installed", "x", { pkgs });
    expect(Object.keys(plan.changes)).toEqual(["six>=2", "new"]);
    const done = await plan.apply?.();
    expect(system.ran).toContain("pip3 install six>=2 new");
    expect(done?.changes).toEqual({ new: { old: "", new: "9" }, six: { old: "1", new: "9" } });
    const again = await planOn(host({ toml: "1", six: "2.1", new: "9" }), "pip.installed", "x", { pkgs });
    expect(again.plan.apply).toBeUndefined();
  });

  test("the newest version, from an index of one's own", async () => {
    const args = { upgrade: true, index_url: "https://x.test/simple", no_deps: true };
    const { plan, system } = await planOn(host({ toml: "1" }), "pip.installed", "toml", args);
    await plan.apply?.();
    expect(system.ran).toContain("pip3 install --upgrade --no-deps --index-url=https://x.test/simple toml");
    expect((await planOn(host({ toml: "9" }), "pip.installed", "toml", args)).plan.apply).toBeUndefined();
  });

  test("a file of requirements", async () => {
    const args = { requirements: "/srv/r.txt" };
    const files = { "/srv/r.txt": "toml # needed\n\nsix>=2\n" };
    expect(
      (await planOn(host({ toml: "1", six: "2" }, files), "pip.installed", "x", args)).plan.apply,
    ).toBeUndefined();
    const { plan, system } = await planOn(host({ toml: "1" }, files), "pip.installed", "x", args);
    await plan.apply?.();
    expect(system.ran).toContain("pip3 install --requirement /srv/r.txt");
  });

  test("packages are removed, and all are upgraded", async () => {
    const removed = await planOn(host({ toml: "1" }), "pip.removed", "toml");
    await removed.plan.apply?.();
    expect(removed.system.ran).toContain("pip3 uninstall -y toml");
    expect((await planOn(host({}), "pip.removed", "toml")).plan.apply).toBeUndefined();
    const upgraded = await planOn(host({ toml: "1", six: "9" }), "pip.uptodate", "x");
    expect(upgraded.plan.changes).toEqual({ toml: { old: "1", new: "9" } });
  });

  test("a host without pip: a test says what would be done, and the run fails", async () => {
    const { plan } = await planOn({}, "pip.installed", "toml");
    expect(plan.changes).toEqual({ toml: { old: "", new: "installed" } });
    await expect(plan.apply?.()).rejects.toThrow("pip is not installed on this host");
    const venv = await planOn({ ...host({}), files: { "/venv/bin/pip": "" } }, "pip.removed", "x", {
      bin_env: "/venv",
    });
    expect(venv.system.ran).toEqual(["/venv/bin/pip list --format=json"]);
  });

  test("Python packages that belong to the package manager", async () => {
    const answer = (argv: readonly string[]) =>
      argv[1] === "list"
        ? { stdout: "[]\n" }
        : { code: 1, stderr: "error: externally-managed-environment\n" };
    const { plan } = await planOn({ programs: ["pip3"], answer }, "pip.installed", "toml");
    await expect(plan.apply?.()).rejects.toThrow("set bin_env to a virtual environment");
  });

  test("what looks like an option is refused", async () => {
    expect(await problemsOf("pip.installed", { pkgs: ["--target=/"] })).toContain("is not a package");
    expect(await problemsOf("pip.installed", { extra_args: ["toml"] })).toContain(
      "extra_args: expected options",
    );
    expect(await problemsOf("pip.installed", { pkgs: ["a"], requirements: "/x" })).toContain(
      "give only one of",
    );
    expect(await problemsOf("pip.removed", { pkgs: ["-r"] })).toContain("is not a valid name");
    expect(await refusal(host({}), "pip.removed", "-r")).toContain("is not a valid name");
  });
});
