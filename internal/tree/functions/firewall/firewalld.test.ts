import { describe, expect, test } from "bun:test";
import { problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import type { SystemFixture } from "../../../../test/harness/system.ts";
import { comparableRule, covers, parseZone } from "./firewalld-zone.ts";

/** firewalld 1.3 with one zone; its lists are printed as it prints them. */
function firewall({
  running = true,
  zones = ["public"],
} = {}): SystemFixture & { zone: Record<string, string[]> } {
  const zone: Record<string, string[]> = {
    services: ["ssh"],
    ports: [],
    "rich-rules": [],
    "forward-ports": [],
  };
  let [byDefault, masquerade] = ["public", false];
  const zoneNames = [...zones];
  const lists = /^--(add|remove|change)-([a-z-]+?)s?(?:=(.*))?$/;
  return {
    programs: ["firewall-cmd"],
    zone,
    answer([program, ...argv]) {
      if (argv[0] === "--state") return { code: running ? 0 : 252 };
      expect(program).toBe(running ? "firewall-cmd" : "firewall-offline-cmd");
      const option = argv.at(-1) ?? "";
      if (option === "--get-zones") return { stdout: `block ${zoneNames.join(" ")}\n` };
      if (option === "--get-default-zone") return { stdout: `${byDefault}\n` };
      if (option.startsWith("--set-default-zone=")) byDefault = option.slice(19);
      if (option.startsWith("--new-zone=")) zoneNames.push(option.slice(11));
      if (option === "--list-all") return { stdout: listed(argv.at(-2)?.slice(7) ?? "", zone, masquerade) };
      if (option === "--add-masquerade") masquerade = true;
      const [, verb, what = "", value = ""] = lists.exec(option) ?? [];
      const list = zone[`${what}s`] ?? [];
      zone[`${what}s`] = list;
      if (verb === "add" || verb === "change") list.push(value);
      if (verb === "remove") list.splice(list.indexOf(value), 1);
      return {};
    },
  };
}

function listed(name: string, zone: Record<string, string[]>, masquerade: boolean): string {
  const lines = Object.entries(zone).map(([label, items]) =>
    /rules|forward/.test(label)
      ? `  ${label.replace("rich-", "rich ")}: ${items.map((each) => `\n\t${each}`).join("")}`
      : `  ${label}: ${items.join(" ")}`,
  );
  return [name, "  target: default", `  masquerade: ${masquerade ? "yes" : "no"}`, ...lines, ""].join("\n");
}

describe("firewalld.present", () => {
  test("adds what is missing to a zone, and loads it", async () => {
    const rule = 'rule family="ipv4" source address="10.0.0.0/8" accept';
    const args = {
      services: ["ssh", "http"],
      ports: ["8080/tcp"],
      rich_rules: [rule],
      port_fwd: ["80:8080:tcp"],
    };
    const { changes, ran } = await settleState(firewall(), "firewalld.present", "public", args);
    expect(changes).toEqual({
      services: { old: ["ssh"], new: ["ssh", "http"] },
      ports: { old: [], new: ["8080/tcp"] },
      rich_rules: { old: [], new: [rule] },
      port_fwd: { old: [], new: ["port=80:proto=tcp:toport=8080:toaddr="] },
    });
    expect(ran).toEqual([
      "firewall-cmd --permanent --zone=public --add-service=http",
      "firewall-cmd --permanent --zone=public --add-port=8080/tcp",
      "firewall-cmd --permanent --zone=public --add-forward-port=port=80:proto=tcp:toport=8080:toaddr=",
      `firewall-cmd --permanent --zone=public --add-rich-rule=${rule}`,
      "firewall-cmd --reload",
    ]);
  });

  test("creates a zone, makes it the default, and masquerades, without the daemon", async () => {
    const args = { default: true, masquerade: true, interfaces: ["eth1"] };
    const { ran } = await settleState(firewall({ running: false }), "firewalld.present", "dmz", args);
    expect(ran).toEqual([
      "firewall-offline-cmd --new-zone=dmz",
      "firewall-offline-cmd --zone=dmz --change-interface=eth1",
      "firewall-offline-cmd --zone=dmz --add-masquerade",
      "firewall-offline-cmd --set-default-zone=dmz",
    ]);
  });

  test("finds addresses in another spelling", async () => {
    const fixture = firewall();
    const forward = "port=80:proto=tcp:toport=8080:toaddr=fd00::a";
    Object.assign(fixture.zone, {
      sources: ["FD00:0::A", "10.1.2.3/8", "00:11:22:AA:BB:CC", "ipset:mine"],
      "forward-ports": [forward],
      "rich-rules": ['rule family="ipv6" source address="fd00:0::/48" accept'],
    });
    const args = {
      sources: ["fd00::a", "10.0.0.0/255.0.0.0", "00:11:22:aa:bb:cc", "ipset:mine"],
      prune_sources: true,
      port_fwd: ["80:8080:tcp:FD00:0::A", "80:8080:tcp:[fd00::a]"],
      rich_rules: ["rule family=ipv6 source address=FD00::/48 accept"],
      prune_rich_rules: true,
    };
    expect((await settleState(fixture, "firewalld.present", "public", args)).changes).toEqual({});
    const other = { sources: ["fd00::b", "ipset:Mine"] };
    expect((await settleState(fixture, "firewalld.present", "public", other)).ran).toEqual([
      "firewall-cmd --permanent --zone=public --change-source=fd00::b",
      "firewall-cmd --permanent --zone=public --change-source=ipset:Mine",
      "firewall-cmd --reload",
    ]);
  });

  test("removes others only on request", async () => {
    expect((await settleState(firewall(), "firewalld.present", "public", { services: [] })).changes).toEqual(
      {},
    );
    const args = { services: ["http"], prune_services: true };
    const { changes } = await settleState(firewall(), "firewalld.present", "public", args);
    expect(changes).toEqual({ services: { old: ["ssh"], new: ["http"] } });
  });
});

test("firewalld.service has exactly its ports", async () => {
  let ports = ["80/tcp"];
  const answer: SystemFixture["answer"] = ([, ...argv]) => {
    const option = argv.at(-1) ?? "";
    if (option === "--get-services") return { stdout: "web\n" };
    if (option === "--get-ports") return { stdout: `${ports.join(" ")}\n` };
    if (option.startsWith("--add-port=")) ports.push(option.slice(11));
    if (option.startsWith("--remove-port=")) ports = ports.filter((each) => each !== option.slice(14));
    return {};
  };
  const fixture = { programs: ["firewall-cmd"], answer };
  const { changes } = await settleState(fixture, "firewalld.service", "web", { ports: ["8080/tcp"] });
  expect(changes).toEqual({ ports: { old: ["80/tcp"], new: ["8080/tcp"] } });
});

test.each([
  [firewall(), "public zone", "is not a name that firewalld takes"],
  [{}, "public", "firewalld is not installed"],
])("refuses %#", async (fixture, name, message) => {
  expect(await failureOf(fixture, "firewalld.present", name, {})).toContain(message);
});

test("a rule compares in any order and with any quotes, and never as another rule", () => {
  const printed =
    'rule family="ipv4" source address="10.0.0.0/8" port port="22" protocol="tcp" log prefix="a b" limit value="3/m" accept';
  const written =
    "rule source address=10.0.0.0/8 family=ipv4 port protocol=tcp port='22' log prefix='a b' limit value=3/m accept";
  expect(comparableRule(written)).toBe(comparableRule(printed));
  const [source, destination] = ["rule source address=a", "rule source address=b"];
  const others = [
    [`${source} destination address=b accept`, `${destination} destination address=a accept`],
    [`${source} destination NOT address=b accept`, "rule source NOT address=a destination address=b accept"],
    ["rule log limit value=1/m accept limit value=2/m", "rule log limit value=2/m accept limit value=1/m"],
    ["rule accept", "rule drop"],
  ];
  for (const [one = "", other = ""] of others) expect(comparableRule(one)).not.toBe(comparableRule(other));
});

test.each([
  ["7000-7010/tcp", "7005/tcp", true],
  ["7000-7010/tcp", "7005-7011/tcp", false],
  ["7000-7010/tcp", "7005/udp", false],
  ["7005/tcp", "7005-7006/tcp", false],
  ["x", "x", false],
])("the ports %s contain %s: %p", (outer, inner, isCovered) => {
  expect(covers(outer, inner)).toBe(isCovered);
});

test("a zone is read as old and new versions print it", () => {
  const older = "public\n  services: ssh http\n  forward-ports: a\n\tb\n  rich rules: \n\trule accept\n";
  expect([...parseZone(older)]).toEqual([
    ["services", ["ssh", "http"]],
    ["forward-ports", ["a", "b"]],
    ["rich rules", ["rule accept"]],
  ]);
});

test("values that would be options are refused", async () => {
  expect(await problemsOf("firewalld.present", { ports: ["--panic-on"] })).toContain("is not valid");
  expect(await problemsOf("firewalld.present", { rich_rules: ["rule\naccept"] })).toContain("is not valid");
});
