import { describe, expect, test } from "bun:test";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";

/** A host whose locales are generated; `locale -a` is that of Debian 12. */
function debian(files: Record<string, string> = {}): SystemFixture {
  const generated = new Set(["C", "C.utf8", "POSIX"]);
  const all: Record<string, string> = {
    "/usr/share/i18n/SUPPORTED": "de_DE.UTF-8 UTF-8\nde_DE ISO-8859-1\nde_DE@euro ISO-8859-15\n",
    ...files,
  };
  return {
    files: all,
    facts: { os_family: "Debian" },
    programs: "/etc/locale.gen" in all ? ["locale-gen"] : [],
    answer([program = "", ...args]) {
      if (program === "locale") return { stdout: `${[...generated].join("\n")}\n` };
      if (program === "locale-gen") generated.add("de_DE.utf8");
      if (program === "localedef") generated.add((args.at(-1) ?? "").replace("UTF-8", "utf8"));
      return {};
    },
  };
}

describe("locale.present", () => {
  test("generates a locale from its list", async () => {
    const list = "# This file lists locales\n# de_AT.UTF-8 UTF-8\n# de_DE.UTF-8 UTF-8\n";
    const { changes, ran, system } = await settleState(
      debian({ "/etc/locale.gen": list }),
      "locale.present",
      "de_DE.UTF-8",
    );
    expect(changes).toEqual({
      "/etc/locale.gen": expect.stringContaining("-# de_DE.UTF-8 UTF-8\n+de_DE.UTF-8 UTF-8\n"),
      "de_DE.UTF-8": "generated",
    });
    expect(ran).toEqual(["locale-gen", "locale -a"]);
    expect(system.files.get("/etc/locale.gen")).toBe(list.replace("# de_DE", "de_DE"));
  });

  test("adds what the list does not have, with the character set that is given", async () => {
    const { ran, system } = await settleState(debian(), "locale.present", "de_DE.UTF-8 UTF-8");
    expect(ran[0]).toBe("localedef -i de_DE -f UTF-8 de_DE.UTF-8");
    expect(system.files.has("/etc/locale.gen")).toBe(false);
  });

  test.each([
    ["xx_YY.UTF-8", "does not know the locale xx_YY.UTF-8 UTF-8"],
    ["-a", "is not a locale"],
    ["de_DE.UTF-8\nx y", "is not a locale"],
  ])("refuses %p", async (name, message) => {
    expect(await failureOf(debian(), "locale.present", name)).toContain(message);
  });
});

describe("locale.system", () => {
  test.each([
    ["/etc/default/locale", "LC_TIME=C\nLANG=en_US.UTF-8\n", "LC_TIME=C\nLANG=de_DE.UTF-8\n"],
    ["/etc/default/locale", 'LANG="C"', "LANG=de_DE.UTF-8"],
    ["/etc/default/locale", "LC_TIME=C", "LC_TIME=C\nLANG=de_DE.UTF-8\n"],
  ])("sets LANG and nothing else in %s", async (path, before, after) => {
    const { system } = await settleState({ files: { [path]: before } }, "locale.system", "de_DE.UTF-8");
    expect(system.files.get(path)).toBe(after);
  });

  test("writes the file that a link leads to", async () => {
    const fixture = {
      files: { "/etc/locale.conf": "LANG=C\n" },
      links: { "/etc/default/locale": "../locale.conf" },
    };
    const { system } = await settleState(fixture, "locale.system", "de_DE.UTF-8");
    expect(system.files.get("/etc/locale.conf")).toBe("LANG=de_DE.UTF-8\n");
    expect(system.files.has("/etc/default/locale")).toBe(false);
  });
});
