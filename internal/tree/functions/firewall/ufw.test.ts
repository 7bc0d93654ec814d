import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";

/** ufw 0.36.2; a dry run prints the rules for a new rule, and this sentence for one that exists. */
function host(rules: string[] = [], active = false): SystemFixture {
  let isActive = active;
  return {
    programs: ["ufw"],
    files: { "/etc/default/ufw": 'IPV6=yes\nDEFAULT_INPUT_POLICY="DROP"\nDEFAULT_OUTPUT_POLICY="ACCEPT"\n' },
    answer([, first = "", ...rest]) {
      if (first === "status") return { stdout: isActive ? "Status: active\n\nTo\n" : "Status: inactive\n" };
      if (first === "--force") isActive = rest[0] === "enable";
      if (first === "--dry-run") {
        const rule = rest.join(" ");
        if (rule.endsWith("app Unknown"))
          return { code: 1, stderr: "ERROR: Could not find a profile matching 'Unknown'\n" };
        if (rule.includes("proto nothing"))
          return { code: 1, stderr: "ERROR: Unsupported protocol 'nothing'\n" };
        return {
          stdout: rules.includes(rule)
            ? "Skipping adding existing rule\nSkipping adding existing rule (v6)\n"
            : `*filter\n### tuple ### ${rule}\nCOMMIT\nRules updated\n`,
        };
      }
      if (/^(?:allow|deny|limit)$/.test(first))
        rules.push([first, ...rest].join(" ").replace(/ comment .*/, ""));
      return {};
    },
  };
}

describe("a rule of ufw", () => {
  test.each([
    [
      "ufw.allow",
      { protocol: "tcp", to_port: 443, comment: '"the web"' },
      "allow proto tcp from any to any port 443",
      " comment the web",
    ],
    ["ufw.allowed", { interface: "eth0" }, "allow in on eth0 from any to any", ""],
    ["ufw.deny", { from_addr: "10.0.0.1", app: '"*"' }, "deny from 10.0.0.1 to any", ""],
    ["ufw.deny", { from_addr: "10.0.0.0/8", to_port: "*" }, "deny from 10.0.0.0/8 to any", ""],
    ["ufw.deny", { from_addr: "10.0.0.0/255.0.0.0" }, "deny from 10.0.0.0/255.0.0.0 to any", ""],
    [
      "ufw.limit",
      { app: '"OpenSSH"', from_addr: "2001:db8::/32" },
      "limit from 2001:db8::/32 to any app OpenSSH",
      "",
    ],
  ])("%s %p is added once", async (called, args, rule, comment) => {
    const { changes, ran } = await settleState(host(), called, "it", args);
    expect(changes).toEqual({ it: { added: rule } });
    expect(ran).toEqual([`ufw ${rule}${comment}`]);
  });

  // What ufw 0.36.2 prints for a rule that it has with a comment, or has not, or cannot have.
  test.each([
    ["*filter\n### tuple ### allow tcp 22 any\nCOMMIT\nRules updated\n", {}],
    ["*filter\n### tuple ### allow tcp 22 any\n### tuple ### allow tcp 23 any\n", { it: expect.anything() }],
    ["Skipping adding existing rule\nSkipping unsupported IPv6 'limit' rule\n", {}],
  ])("is new or not: %p", async (stdout, changes) => {
    const files = { "/etc/ufw/user.rules": "*filter\n### tuple ### allow tcp 22 any comment=6672\n" };
    const fixture: SystemFixture = { programs: ["ufw"], files, answer: () => ({ stdout }) };
    expect((await planOn(fixture, "ufw.allow", "it", { to_port: 22 })).plan.changes).toEqual(changes);
    const answer = () => ({ stdout: "Skipping unsupported IPv6 'limit' rule\n" });
    expect(await failureOf({ ...fixture, answer }, "ufw.limit", "it", { to_port: 22 })).toBe(
      "ufw does not accept the rule: Skipping unsupported IPv6 'limit' rule",
    );
  });

  test("for a profile that an earlier state writes fails only when it is applied", async () => {
    const { plan } = await planOn(host(), "ufw.allow", "it", { app: "Unknown" });
    expect(plan.changes).toEqual({ it: "not known yet" });
    await expect(plan.apply?.()).rejects.toThrow("Could not find a profile matching 'Unknown'");
  });

  test.each([
    [{ from_addr: "db.example.com" }, "names of hosts are not resolved"],
    [{ from_addr: "fd00::/255.0.0.0" }, "expected an address or a network"],
    [{ to_port: "http" }, "to_port:"],
    [{ interface: "--force" }, "interface:"],
    [{ comment: "a\nb" }, "comment:"],
  ])("%p is refused", async (args, message) => {
    expect(await problemsOf("ufw.allow", args)).toContain(message);
  });

  test("that ufw does not accept fails with its reason", async () => {
    const message = await failureOf(host(), "ufw.deny", "it", { protocol: "nothing" });
    expect(message).toBe("ufw does not accept the rule: Unsupported protocol 'nothing'");
  });
});

test("the firewall is enabled and disabled once", async () => {
  expect((await settleState(host(), "ufw.enabled", "on")).ran).toEqual(["ufw --force enable"]);
  expect((await settleState(host([], true), "ufw.disabled", "off")).ran).toEqual(["ufw --force disable"]);
});

test("a default is set where it differs", async () => {
  const { plan, system } = await planOn(host(), "ufw.default_incoming", "in", { default: "reject" });
  await plan.apply?.();
  expect([plan.changes, system.ran]).toEqual([
    { in: { old: "DROP", new: "REJECT" } },
    ["ufw default reject incoming"],
  ]);
  expect((await planOn(host(), "ufw.default_outgoing", "out", { default: "allow" })).plan.changes).toEqual(
    {},
  );
});
