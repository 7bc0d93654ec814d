import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";
import { comparable, ruleText } from "./nftables-rule.ts";

type Chains = Record<string, string[]>;

/** Tables by family and name, with the rules of their chains; it lists rules as nft 1.0 does. */
function filter(tables: Record<string, Chains> = { "ip filter": { input: [] } }): SystemFixture {
  const noSuch = { code: 1, stderr: "Error: No such file or directory" };
  const chainText = (name: string, rules: readonly string[]) => [
    `\tchain ${name} { # handle 1`,
    ...rules.map((rule, at) => `\t\t${rule} # handle ${at + 2}`),
    "\t}",
  ];
  return {
    programs: ["nft"],
    answer([, ...argv]) {
      const [verb = "", what, family = "", table = "", chain = "", ...rest] = argv.filter(
        (each) => !/^--/.test(each),
      );
      const place = `${family} ${table}`;
      const chains = tables[place];
      if (verb === "list" && what === "tables") {
        return {
          stdout: Object.keys(tables)
            .map((each) => `table ${each} # handle 1`)
            .join("\n"),
        };
      }
      if (verb === "list" && what === "ruleset") return { stdout: "table ip filter {\n}\n" };
      if (what === "table" && verb === "add") tables[place] = {};
      else if (chains === undefined) return noSuch;
      else if (what === "table" && verb === "delete") delete tables[place];
      else if (verb === "list") {
        const shown = what === "table" ? Object.keys(chains) : [chain];
        if (shown.some((each) => chains[each] === undefined)) return noSuch;
        const lines = shown.flatMap((each) => chainText(each, chains[each] ?? []));
        return { stdout: [`table ${place} { # handle 1`, ...lines, "}"].join("\n") };
      } else if (what === "chain" && verb === "add") chains[chain] = [];
      else if (what === "chain" && verb === "flush") chains[chain] = [];
      else if (what === "chain" && verb === "delete") delete chains[chain];
      else if (what === "rule" && verb === "delete") chains[chain]?.splice(Number(rest[1]) - 2, 1);
      else if (what === "rule") {
        const index = rest[0] === "index" ? Number(rest[1]) : 0;
        // What it was given is not always how it lists it.
        const rule = (rest.at(-1) ?? "")
          .replace("10.9.9.9/24", "10.9.9.0/24")
          .replace("FD00:0::A/128", "fd00::a")
          .replace("meta l4proto 6", "meta l4proto tcp")
          .replace("{ 443, 80 }", "{ 80, 443 }");
        if (verb === "add") chains[chain]?.push(rule);
        else chains[chain]?.splice(index, 0, rule);
        const at = verb === "add" ? (chains[chain]?.length ?? 0) - 1 : index;
        const before = rest[0] === "index" ? `handle ${at + 3} ` : "";
        return { stdout: `${verb} rule ${place} ${chain} ${before}${rule} # handle ${at + 2}\n` };
      }
      return {};
    },
  };
}

describe("the text of a rule", () => {
  test.each([
    [{ proto: "tcp", dport: 22, jump: "ACCEPT" }, "tcp dport 22 accept"],
    [{ protocol: "udp", sport: "1024:65535", jump: "mine" }, "udp sport 1024-65535 jump mine"],
    [
      { protocol: "tcp", dports: "443,80", source: "10.0.0.0/8", jump: "accept" },
      "ip saddr 10.0.0.0/8 tcp dport { 443, 80 } accept",
    ],
    [{ source: "! 2001:db8::/32", goto: "mine" }, "ip6 saddr != 2001:db8::/32 goto mine"],
    [
      { if: "eth0", of: "eth1", counter: true, "log-prefix": "x: ", comment: "a, b" },
      'iifname "eth0" oifname "eth1" counter log prefix "x: " comment "a, b"',
    ],
    [{ connstate: ["NEW", "established"], jump: "drop" }, "ct state { new, established } drop"],
    [{ protocol: "icmp", jump: "accept" }, "meta l4proto icmp accept"],
    [{ "icmp-type": "echo-request", family: "ipv6", jump: "accept" }, "icmpv6 type echo-request accept"],
  ])("%p", (args, text) => {
    expect(ruleText({ chain: "input", ...args })).toBe(text);
  });

  // As nft 1.0.6 lists what it was given.
  test.each([
    ["ct state { related, established } accept", "ct state { established, related } accept # handle 9"],
    ["ct state { related, established } accept", "ct state established,related accept"],
    ["tcp dport 22 counter accept", "tcp dport 22 counter packets 5 bytes 300 accept"],
    ["ip saddr != 10.0.0.1/32 reject", "ip saddr != 10.0.0.1 reject with icmp port-unreachable"],
    ["meta l4proto tcp drop", "ip protocol tcp drop"],
    ["ip6 saddr { fd00:0::b, fd00::a/128 } drop", "ip6 saddr { fd00::a, fd00::b } drop"],
    ["ip6 saddr != FD00:0::5/64 jump fd00", "ip6 saddr != fd00::/64 jump fd00"],
    ["ip6 saddr ::ffff:a00:1 drop", "ip6 saddr ::ffff:10.0.0.1 drop"],
  ])("%s is %s", (given, listed) => {
    expect(comparable(listed)).toBe(comparable(given));
  });

  test("the order of words in a comment counts, and so does how an address is written there", () => {
    expect(comparable('accept comment "fd00:0::a"')).not.toBe(comparable('accept comment "fd00::a"'));
    expect(comparable('accept comment "b,a"')).not.toBe(comparable('accept comment "a,b"'));
  });
});

const ssh = { chain: "input", proto: "tcp", dport: 22, jump: "accept" };

describe("a state", () => {
  test("adds a rule once, and writes the rules for the boot", async () => {
    const { changes, ran, system } = await settleState(filter(), "nftables.append", "ssh", {
      ...ssh,
      save: true,
    });
    expect(changes).toEqual({
      ssh: { added: "input tcp dport 22 accept" },
      "/etc/nftables.conf": "rules written",
    });
    expect(ran).toEqual([
      "nft --echo --handle add rule ip filter input tcp dport 22 accept",
      "nft list ruleset",
    ]);
    expect(system.files.get("/etc/nftables.conf")).toContain("flush ruleset\n\ntable ip filter");
  });

  test("adds a rule at the beginning, to another table and family", async () => {
    const tables = { "inet mine": { input: ["udp dport 53 accept"] } };
    await settleState(filter(tables), "nftables.insert", "ssh", { ...ssh, table: "mine", family: "inet" });
    expect(tables["inet mine"].input).toEqual(["tcp dport 22 accept", "udp dport 53 accept"]);
  });

  test.each([
    [1, ["tcp dport 22 accept", "a", "b"]],
    [2, ["a", "tcp dport 22 accept", "b"]],
    [3, ["a", "b", "tcp dport 22 accept"]],
  ])("adds a rule at the position %p", async (position, rules) => {
    const tables = { "ip filter": { input: ["a", "b"] } };
    await settleState(filter(tables), "nftables.insert", "ssh", { ...ssh, position });
    expect(tables["ip filter"].input).toEqual(rules);
  });

  test("adds no rule beyond the end of the chain", async () => {
    expect(await failureOf(filter(), "nftables.insert", "ssh", { ...ssh, position: 2 })).toBe(
      "position: the chain input has 0 rules, so it is at most 1",
    );
  });

  test("recognizes a set in another order", async () => {
    const args = { chain: "input", proto: "tcp", dports: "443,80", jump: "accept" };
    const { changes } = await settleState(filter(), "nftables.append", "web", args);
    expect(changes).toEqual({ web: { added: "input tcp dport { 443, 80 } accept" } });
  });

  test.each([
    ["10.9.9.9/24", {}, "ip filter"],
    ["FD00:0::A/128", { family: "ipv6" }, "ip6 filter"],
  ])("recognizes the address %s, which nft lists in another spelling", async (source, place, table) => {
    const args = { chain: "input", source, jump: "drop", ...place };
    const { changes } = await settleState(filter({ [table]: { input: [] } }), "nftables.append", "it", args);
    expect(Object.keys(changes)).toEqual(["it"]);
  });

  test("removes a rule that nft lists in other words, since it would be added each time", async () => {
    const tables = { "ip filter": { input: ["drop"] } };
    const args = { chain: "input", protocol: 6, jump: "drop" };
    expect(await failureOf(filter(tables), "nftables.append", "net", args)).toBe(
      "nft lists the rule meta l4proto 6 drop as meta l4proto tcp drop: write the arguments like this",
    );
    expect(tables["ip filter"].input).toEqual(["drop"]);
  });

  test("removes a rule, and no other", async () => {
    const tables = { "ip filter": { input: ["drop", "tcp dport 22 accept", "accept"] } };
    const { changes } = await settleState(filter(tables), "nftables.delete", "ssh", ssh);
    expect(changes).toEqual({ ssh: { removed: "tcp dport 22 accept" } });
    expect(tables["ip filter"].input).toEqual(["drop", "accept"]);
  });

  test.each([
    ["nftables.flush", "it", { chain: "input" }, { it: { old: ["drop"], new: [] } }],
    ["nftables.chain_present", "mine", {}, { mine: "created" }],
    ["nftables.chain_absent", "input", {}, { input: "removed" }],
    ["nftables.table_present", "nat", { family: "inet" }, { nat: "created" }],
    ["nftables.table_absent", "filter", {}, { filter: "removed" }],
  ])("%s", async (called, name, args, changes) => {
    const fixture = filter({ "ip filter": { input: ["drop"] } });
    expect((await settleState(fixture, called, name, args)).changes).toEqual(changes);
  });

  test("creates a chain that packets enter", async () => {
    const args = { table_type: "filter", hook: "output", priority: -10 };
    const { ran } = await settleState(filter(), "nftables.chain_present", "out", args);
    expect(ran).toEqual(["nft -- add chain ip filter out { type filter hook output priority -10 ; }"]);
  });
});

test.each([
  ["nftables.append", { chain: "input; flush ruleset", jump: "drop" }, "chain: expected"],
  ["nftables.append", { ...ssh, table: "a b" }, "table: expected"],
  ["nftables.append", { ...ssh, comment: 'x" accept' }, "comment: expected"],
  ["nftables.append", { ...ssh, jump: "accept; flush ruleset" }, "jump: expected"],
  ["nftables.append", { ...ssh, dport: "22 } accept" }, "dport: expected a port as a number"],
  ["nftables.append", { ...ssh, dport: "ssh" }, "dport: expected a port as a number"],
  ["nftables.append", { ...ssh, source: "@set" }, "source: expected"],
  ["nftables.append", { ...ssh, if: "eth0 accept" }, "if: expected"],
  ["nftables.append", { chain: "input", dport: 22, jump: "accept" }, "dport: needs protocol"],
  ["nftables.append", { chain: "input", source: { a: 1 }, jump: "drop" }, "source: expected"],
  ["nftables.chain_present", { hook: "input" }, "give all three"],
])("%s refuses %p", async (called, args, message) => {
  expect(await problemsOf(called, args)).toContain(message);
});

test("a name cannot hold a command of nft", async () => {
  for (const called of ["nftables.chain_present", "nftables.table_present"]) {
    expect(await failureOf(filter(), called, "x; flush ruleset")).toContain("is not a name");
  }
});

test("a chain that an earlier state creates fails no test", async () => {
  const { plan } = await planOn(fixtureSystem(filter({})), "nftables.append", "ssh", ssh);
  expect(plan.changes).toEqual({ ssh: { added: "input tcp dport 22 accept" } });
  expect(await failureOf({}, "nftables.append", "ssh", ssh)).toBe("nft is not installed on this host");
});
