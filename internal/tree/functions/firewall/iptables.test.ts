import { describe, expect, test } from "bun:test";
import { planOn, problemsOf } from "../../../../test/harness/planned-state.ts";
import { failureOf, settleState } from "../../../../test/harness/settle-state.ts";
import { fixtureSystem, type SystemFixture } from "../../../../test/harness/system.ts";
import { ruleWords } from "./iptables-rule.ts";

/** A packet filter of one table, with rules as their words. */
function filter(rules: string[] = [], chains = ["INPUT", "FORWARD", "OUTPUT"]): SystemFixture {
  const policies = new Map(chains.map((name) => [name, name === name.toUpperCase() ? "ACCEPT" : undefined]));
  const list = () =>
    [
      ...[...policies].map(([name, policy]) =>
        policy === undefined ? `-N ${name}` : `-P ${name} ${policy}`,
      ),
      ...rules.map((rule) => `-A ${rule}`),
    ].join("\n");
  return {
    programs: ["iptables", "ip6tables"],
    answer([program, ...argv]) {
      if (program === "iptables-save") return { stdout: `*filter\n${list()}\nCOMMIT\n` };
      expect(argv.slice(0, 3)).toEqual(["-w", "10", "-t"]);
      const [option, chain = "", ...words] = argv.slice(4);
      const rule = [chain, ...words].join(" ");
      if (option === "-S") return { stdout: `${list()}\n` };
      if (option === "-C") return { code: rules.includes(rule) ? 0 : 1 };
      if (option === "-A") rules.push(rule);
      if (option === "-I") rules.unshift([chain, ...words.slice(1)].join(" "));
      if (option === "-D") rules.splice(rules.indexOf(rule), 1);
      if (option === "-P") policies.set(chain, words[0]);
      if (option === "-N") policies.set(chain, undefined);
      if (option === "-X") policies.delete(chain);
      if (option === "-F")
        rules.splice(0, rules.length, ...rules.filter((each) => !each.startsWith(`${chain} `)));
      return {};
    },
  };
}

describe("the words of a rule", () => {
  test.each([
    [
      { match: "state", connstate: "NEW,ESTABLISHED", dport: 25, proto: "tcp", jump: "ACCEPT" },
      "-p tcp -m tcp -m state --dport 25 --state NEW,ESTABLISHED -j ACCEPT",
    ],
    [{ source: "! 10.0.0.0/8", if: "eth0", jump: "DROP" }, "-i eth0 ! -s 10.0.0.0/8 -j DROP"],
    [{ protocol: "udp", dports: [53, 123], jump: "ACCEPT" }, "-p udp -m multiport --dports 53,123 -j ACCEPT"],
    [
      { match: ["comment", "conntrack"], connstate: "RELATED", comment: "not for me", jump: "ACCEPT" },
      "-m comment -m conntrack --ctstate RELATED --comment not for me -j ACCEPT",
    ],
    [
      { jump: "REJECT", "reject-with": "icmp-host-prohibited" },
      "-j REJECT --reject-with icmp-host-prohibited",
    ],
    [{ "match-set": "blocked src", jump: "DROP" }, "-m set --match-set blocked src -j DROP"],
    [
      { protocol: "icmp", "icmp-type": "echo-request", goto: "ping" },
      "-p icmp -m icmp --icmp-type echo-request -g ping",
    ],
    [
      { match: "owner", options: { "uid-owner": "not 1000" }, jump: "DROP" },
      "-m owner ! --uid-owner 1000 -j DROP",
    ],
    [{ i: "eth0", "uid-owner": 7, j: "DROP" }, "-i eth0 --uid-owner 7 -j DROP"],
    [{ if: "eth0", o: "not eth1", f: "x" }, "-i eth0 ! -o eth1 -f x"],
  ])("%p", (args, words) => {
    expect(ruleWords({ chain: "INPUT", ...args }).join(" ")).toBe(words);
  });
});

const ssh = { chain: "INPUT", protocol: "tcp", dport: 22, jump: "ACCEPT" };

describe("a state", () => {
  test("adds a rule once, and writes the rules for the boot", async () => {
    const { changes, ran, system } = await settleState(filter(), "iptables.append", "ssh", {
      ...ssh,
      save: true,
    });
    expect(changes).toEqual({
      ssh: { added: "INPUT -p tcp -m tcp --dport 22 -j ACCEPT" },
      "/etc/iptables/rules.v4": "rules written",
    });
    expect(ran).toEqual([
      "iptables -w 10 -t filter -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT",
      "iptables-save",
    ]);
    expect(system.files.get("/etc/iptables/rules.v4")).toContain("-A INPUT -p tcp");
  });

  test("adds a rule at a position, to another table and family", async () => {
    const args = { ...ssh, position: 2, table: "mangle", family: "ipv6" };
    const { ran } = await settleState(filter(), "iptables.insert", "ssh", args);
    expect(ran).toEqual(["ip6tables -w 10 -t mangle -I INPUT 2 -p tcp -m tcp --dport 22 -j ACCEPT"]);
  });

  test("removes a rule", async () => {
    const { changes } = await settleState(
      filter(["INPUT -p tcp -m tcp --dport 22 -j ACCEPT"]),
      "iptables.delete",
      "ssh",
      ssh,
    );
    expect(changes).toEqual({ ssh: { removed: "INPUT -p tcp -m tcp --dport 22 -j ACCEPT" } });
  });

  test.each([
    ["iptables.set_policy", { chain: "INPUT", policy: "DROP" }, { INPUT: { old: "ACCEPT", new: "DROP" } }],
    ["iptables.flush", { chain: "INPUT" }, { it: { old: ["-A INPUT -j DROP"], new: [] } }],
    ["iptables.chain_present", {}, { it: "created" }],
  ])("%s", async (called, args, changes) => {
    expect(
      (await settleState(filter(["INPUT -j DROP", "OUTPUT -j DROP"]), called, "it", args)).changes,
    ).toEqual(changes);
  });

  test("removes a chain with its rules", async () => {
    const { ran } = await settleState(
      filter(["mine -j DROP"], ["INPUT", "mine"]),
      "iptables.chain_absent",
      "mine",
    );
    expect(ran).toEqual(["iptables -w 10 -t filter -F mine", "iptables -w 10 -t filter -X mine"]);
  });
});

test.each([
  ["iptables.append", { chain: "-F", jump: "DROP" }, "chain: expected a chain"],
  ["iptables.append", { chain: "INPUT", comment: "a\nb" }, "comment: must not contain a line break"],
  ["iptables.append", { chain: "INPUT", options: { "x y": 1 } }, "is not an option"],
  ["iptables.append", { chain: "INPUT", table: "filter -F" }, "expected one of"],
  ["iptables.append", { chain: "INPUT", source: { a: 1 } }, "source: expected"],
])("%s refuses %p", async (called, args, message) => {
  expect(await problemsOf(called, args)).toContain(message);
});

test.each([
  "iptables v1.8.9 (nf_tables): Chain 'smtp.in' does not exist\nTry -h",
  "iptables v1.8.9 (legacy): Couldn't load target `smtp.in':No such file or directory\n",
])("a target that an earlier state creates fails no test: %s", async (stderr) => {
  const system = fixtureSystem({ programs: ["iptables"], answer: () => ({ code: 2, stderr }) });
  const { plan } = await planOn(system, "iptables.append", "jump", { chain: "INPUT", jump: "smtp.in" });
  expect(plan.changes).toEqual({ jump: { added: "INPUT -j smtp.in" } });
});

test("a rule that iptables does not accept fails the plan, with its reason", async () => {
  const answer = () => ({ code: 2, stderr: 'iptables v1.8.9 (nf_tables): unknown option "--x"\nTry -h\n' });
  const message = await failureOf({ programs: ["iptables"], answer }, "iptables.append", "a", ssh);
  expect(message).toBe(
    'iptables does not accept the rule: iptables v1.8.9 (nf_tables): unknown option "--x"',
  );
  expect(await failureOf({}, "iptables.append", "a", ssh)).toBe("iptables is not installed on this host");
});
