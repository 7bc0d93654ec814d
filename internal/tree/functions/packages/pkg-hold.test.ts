import { describe, expect, test } from "bun:test";
import { planOn, problemsOf, refusal } from "../../../../test/harness/planned-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";
import type { CallArgs } from "../../../host/modules/mod.ts";
import type { Changes } from "../../function/mod.ts";

const entry = (name: string, selected: string) =>
  `Package: ${name}\nStatus: ${selected} ok installed\nArchitecture: amd64\nVersion: 5.2\n`;
const apt: SystemFixture = {
  programs: ["apt-get"],
  files: { "/var/lib/dpkg/status": `${entry("bash", "install")}\n${entry("dash", "hold")}` },
};

describe("packages that are held", () => {
  test.each<[string, string, CallArgs, Changes, string, string]>([
    ["pkg.held", "bash", {}, { held: ["bash"] }, "held: bash", "apt-mark -q hold bash"],
    [
      "pkg.unheld",
      "x",
      { pkgs: ["bash", "dash"] },
      { "let go": ["dash"] },
      "let go: dash",
      "apt-mark -q unhold dash",
    ],
    ["pkg.installed", "bash", { hold: true }, { held: ["bash"] }, "held: bash", "apt-mark -q hold bash"],
  ])("%s %s %j", async (called, name, args, changes, words, command) => {
    const { plan, system } = await planOn(apt, called, name, args);
    expect(plan).toMatchObject({ changes, comment: `would be ${words}` });
    expect(system.ran).toEqual([]);
    expect(await plan.apply?.()).toMatchObject({ comment: words });
    expect(system.ran).toEqual([command]);
  });

  test.each<[string, string, CallArgs]>([
    ["pkg.held", "dash", {}],
    ["pkg.unheld", "bash", {}],
    ["pkg.installed", "dash", { hold: true }],
    ["pkg.installed", "bash", { hold: false }],
    ["pkg.installed", "dash", {}],
  ])("%s %s %j changes nothing", async (called, name, args) => {
    expect((await planOn(apt, called, name, args)).plan).toMatchObject({ changes: {} });
  });

  test("a new package is installed first, and then held", async () => {
    const { plan, system } = await planOn(apt, "pkg.installed", "x", { pkgs: ["vim"], hold: true });
    expect(plan).toMatchObject({
      changes: { vim: { old: "", new: "latest" }, held: ["vim"] },
      comment: "would be installed: vim; held: vim",
    });
    // What the program did not install is not held.
    await plan.apply?.().catch(() => undefined);
    expect(system.ran).toEqual([expect.stringMatching(/ install vim$/)]);
  });

  test("a package whose version changes is let go before", async () => {
    const args = { version: "5.3", hold: false };
    const { plan, system } = await planOn(apt, "pkg.installed", "dash", args);
    await plan.apply?.().catch(() => undefined);
    expect(system.ran).toEqual(["apt-mark -q unhold dash", expect.stringMatching(/ install dash=5.3$/)]);
  });

  test("a package manager that holds none is named", async () => {
    expect(await refusal({ programs: ["apk"] }, "pkg.held", "bash")).toContain("apk holds no packages here");
  });
});

test("the release that packages come from, and what is installed with them", async () => {
  const args = { fromrepo: "bookworm-backports", install_recommends: false, update_holds: true };
  const { plan, system } = await planOn(apt, "pkg.installed", "vim", args);
  await plan.apply?.().catch(() => undefined);
  expect(system.ran).toEqual([
    expect.stringMatching(
      / -t bookworm-backports --no-install-recommends --allow-change-held-packages install vim$/,
    ),
  ]);
  expect(await problemsOf("pkg.installed", { fromrepo: "-o=x" })).toContain("is not the name of a release");
  expect(await problemsOf("pkg.installed", { sources: [{ a: "/a.deb" }], hold: true })).toContain(
    "hold: give it",
  );
  expect(await problemsOf("pkg.latest", { fromrepo: "a b" })).toContain("is not the name of a release");
});
