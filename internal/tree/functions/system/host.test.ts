import { describe, expect, test } from "bun:test";
import { planOn } from "../../../../test/harness/planned-state.ts";
import { fixtureSystem } from "../../../../test/harness/system.ts";
import type { Plain } from "../../../base/msgpack.ts";

type Call = [state: string, name: string, args: Record<string, Plain>];

/** The file after the state, which finds nothing to do a second time. */
async function apply(before: string, [state, name, args]: Call): Promise<string> {
  const system = fixtureSystem({ files: { "/etc/hosts": before } });
  const { plan } = await planOn(system, state, name, args);
  await plan.apply?.();
  expect((await planOn(system, state, name, args)).plan.apply).toBeUndefined();
  return system.files.get("/etc/hosts") ?? "";
}

const hosts = "127.0.0.1 localhost\nfd00:0::a six.example.com # kept\n";

describe("addresses are compared as addresses", () => {
  test.each<[string, Call, string]>([
    [hosts, ["host.present", "six.example.com", { ip: ["FD00::A"] }], hosts],
    [
      hosts,
      ["host.present", "seven", { ip: ["fd00:0:0:0:0:0:0:a"] }],
      hosts.replace("example.com", "example.com seven"),
    ],
    [
      `${hosts}fd00::b six.example.com\n`,
      ["host.present", "six.example.com", { ip: ["FD00::A"], clean: true }],
      hosts,
    ],
    [hosts, ["host.absent", "six.example.com", { ip: ["FD00::A"] }], "127.0.0.1 localhost\n"],
    [hosts, ["host.absent", "six.example.com", {}], "127.0.0.1 localhost\n"],
    [hosts, ["host.only", "FD00::A", { hostnames: ["six.example.com"] }], hosts],
    [
      `${hosts}FD00::A other\n`,
      ["host.only", "fd00::000a", { hostnames: ["new"] }],
      "127.0.0.1 localhost\nfd00:0::a\t\tnew\n",
    ],
    [
      "fe80::1%eth0 a\n",
      ["host.present", "a", { ip: ["FE80::1%eth1"] }],
      "fe80::1%eth0 a\nFE80::1%eth1\t\ta\n",
    ],
  ])("%j with %j", async (before, call, after) => {
    expect(await apply(before, call)).toBe(after);
  });
});

test("a file with CR LF keeps its line ends, and new lines have them", async () => {
  const before = "127.0.0.1 localhost\r\n";
  expect(await apply(before, ["host.present", "a", { ip: ["10.0.0.1"] }])).toBe(`${before}10.0.0.1\t\ta\r\n`);
  expect(await apply(before, ["host.present", "a", { ip: ["127.0.0.1"] }])).toBe("127.0.0.1 localhost a\r\n");
  expect(await apply(before, ["host.present", "localhost", { ip: ["127.0.0.1"] }])).toBe(before);
});
