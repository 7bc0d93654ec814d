import { expect, test } from "bun:test";
import { planOn, refusal } from "../../../../test/harness/planned-state.ts";
import type { CallArgs } from "../../../host/modules/function.ts";
import { parseAlternatives } from "./alternatives-file.ts";

const text = `auto
/usr/bin/editor
editor.1.gz
/usr/share/man/man1/editor.1.gz

/bin/nano
40
/usr/share/man/man1/nano.1.gz
/usr/bin/vim
30

`;
const host = {
  files: { "/var/lib/dpkg/alternatives/editor": text },
  links: { "/etc/alternatives/editor": "/bin/nano" },
  programs: ["update-alternatives"],
};

test("the file of a name is read, of Debian and of Red Hat", () => {
  const all = [
    { path: "/bin/nano", priority: 40 },
    { path: "/usr/bin/vim", priority: 30 },
  ];
  expect(parseAlternatives(text)).toEqual({ automatic: true, link: "/usr/bin/editor", all });
  const family = "manual\n/usr/bin/java\n\n@java@/opt/java\n1100 jexec\n";
  expect(parseAlternatives(family)).toEqual({
    automatic: false,
    link: "/usr/bin/java",
    all: [{ path: "/opt/java", priority: 1100 }],
  });
  expect(parseAlternatives("nonsense")).toBeUndefined();
});

const link = "/usr/bin/editor";

test.each<[string, CallArgs, string | undefined]>([
  ["install", { link, path: "/bin/nano", priority: 40 }, undefined],
  ["install", { link, path: "/bin/nano", priority: 50 }, "--install /usr/bin/editor editor /bin/nano 50"],
  ["install", { link, path: "/bin/ed", priority: 10 }, "--install /usr/bin/editor editor /bin/ed 10"],
  ["remove", { path: "/bin/ed" }, undefined],
  ["remove", { path: "/bin/nano" }, "--remove editor /bin/nano"],
  ["set", { path: "/usr/bin/vim" }, "--set editor /usr/bin/vim"],
  ["set", { path: "/bin/nano" }, "--set editor /bin/nano"],
  ["auto", {}, undefined],
])("alternatives.%s %j", async (called, args, ran) => {
  const { system, plan } = await planOn(host, `alternatives.${called}`, "editor", args);
  await plan.apply?.();
  expect(system.ran).toEqual(ran === undefined ? [] : [`update-alternatives ${ran}`]);
});

test("a name in manual mode is set to what it is already, and back to automatic mode", async () => {
  const manual = { ...host, files: { "/var/lib/dpkg/alternatives/editor": text.replace("auto", "manual") } };
  const set = await planOn(manual, "alternatives.set", "editor", { path: "/bin/nano" });
  expect(set.plan.apply).toBeUndefined();
  const auto = await planOn(manual, "alternatives.auto", "editor");
  await auto.plan.apply?.();
  expect(auto.system.ran).toEqual(["update-alternatives --auto editor"]);
});

test("a path that is not an alternative is refused, unless an earlier state adds one", async () => {
  const args = { path: "/bin/ed" };
  expect(await refusal(host, "alternatives.set", "editor", args)).toContain(
    "add it with alternatives.install",
  );
  expect(await refusal(host, "alternatives.auto", "pager")).toContain(
    "this host has no alternatives of pager",
  );
  expect(await refusal(host, "alternatives.auto", "../x")).toContain("is not a valid name");
  const described = [{ function: "alternatives.install", name: "editor" }];
  const { plan } = await planOn(host, "alternatives.set", "editor", args, { described });
  expect(plan.apply).toBeFunction();
});
