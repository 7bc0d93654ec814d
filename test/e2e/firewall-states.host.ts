import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

// The network of the private root is its own, and so are all packet filters in it.
let root: PrivateRoot;
beforeAll(async () => {
  root = await openPrivateRoot({ systemd: true });
  await installPackages(root, "firewall");
  return () => root[Symbol.asyncDispose]();
});

const all = (ids: string, result: string) => ids.replace(/\S+/g, (id) => `${id}:${result}`);

const iptables = `
limits:
  iptables.chain_present: [{name: LIMITS}]
ssh:
  iptables.append:
    - chain: INPUT
    - protocol: tcp
    - dport: 22
    - source: 10.0.0.0/8
    - if: eth0
    - match: [conntrack, comment]
    - ctstate: NEW,ESTABLISHED
    - comment: it's "the" peel
    - jump: ACCEPT
    - save: true
first:
  iptables.insert: [{chain: INPUT}, {connstate: "RELATED,ESTABLISHED"}, {jump: ACCEPT}]
second:
  iptables.insert: [{chain: INPUT}, {position: 2}, {proto: icmp}, {icmp-type: echo-request}, {jump: LIMITS}]
limited:
  iptables.append: [{chain: LIMITS}, {limit: 5/min}, {limit-burst: 7}, {jump: LOG}, {log-prefix: "limited: "}]
web:
  iptables.append: [{chain: INPUT}, {proto: tcp}, {dports: [80, 443]}, {source: "! 10.9.0.0/16"}, {jump: REJECT}, {reject-with: tcp-reset}]
owner:
  iptables.append: [{chain: OUTPUT}, {options: {uid-owner: 0}}, {match: owner}, {jump: ACCEPT}]
nat:
  iptables.append: [{table: nat}, {chain: POSTROUTING}, {of: eth0}, {jump: MASQUERADE}]
redirect:
  iptables.append: [{table: nat}, {chain: PREROUTING}, {proto: tcp}, {dport: 80}, {jump: REDIRECT}, {to-ports: 8080}]
six:
  iptables.append: [{family: ipv6}, {chain: INPUT}, {source: "fd00::/8"}, {jump: ACCEPT}, {save: /etc/svc-test.v6}]
drop:
  iptables.set_policy: [{chain: FORWARD}, {policy: DROP}]
`;

test("rules of iptables are found as the kernel lists them", async () => {
  const ids = "limits ssh first second limited web owner nat redirect six drop";
  const gone = `
flushed:
  iptables.flush: []
six:
  iptables.delete: [{family: ipv6}, {chain: INPUT}, {source: "fd00::/8"}, {jump: ACCEPT}]
nat:
  iptables.flush: [{table: nat}]
limits:
  iptables.chain_absent: [{name: LIMITS}]
drop:
  iptables.set_policy: [{chain: FORWARD}, {policy: ACCEPT}]
`;
  const probe = "iptables -S; iptables -t nat -S; ip6tables -S";
  const before = await output(root, probe);
  expect(await brief(root, iptables, { test: true })).toBe(all(ids, "null+"));
  expect(await output(root, probe)).toBe(before);
  expect(await brief(root, iptables)).toBe(all(ids, "true+"));
  const there = await output(root, probe);
  expect(there).toContain(
    [
      "-A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT",
      "-A INPUT -p icmp -m icmp --icmp-type 8 -j LIMITS",
      '-A INPUT -s 10.0.0.0/8 -i eth0 -p tcp -m tcp --dport 22 -m conntrack --ctstate NEW,ESTABLISHED -m comment --comment "it\\\'s \\"the\\" peel" -j ACCEPT',
      "-A INPUT ! -s 10.9.0.0/16 -p tcp -m multiport --dports 80,443 -j REJECT --reject-with tcp-reset",
    ].join("\n"),
  );
  expect(await brief(root, iptables)).toBe(all(ids, "true"));
  expect(await output(root, probe)).toBe(there);
  // What is loaded at boot loads.
  expect(
    await output(
      root,
      "iptables-restore --test /etc/iptables/rules.v4; ip6tables-restore --test /etc/svc-test.v6",
    ),
  ).toBe("");
  expect(await brief(root, gone)).toBe(all("flushed six nat limits drop", "true+"));
  expect(await brief(root, gone)).toBe(all("flushed six nat limits drop", "true"));
  expect(await output(root, probe)).toBe(before);
  const [refused] = await root.apply(
    "bad:\n  iptables.append: [{chain: INPUT}, {proto: tcp}, {options: {nothing: 1}}, {jump: ACCEPT}]\n",
  );
  expect(refused).toMatchObject({ result: false, comment: expect.stringContaining("nothing") });
});

const nftables = `
table:
  nftables.table_present: [{name: svc}, {family: inet}]
input:
  nftables.chain_present: [{table: svc}, {family: inet}, {table_type: filter}, {hook: input}, {priority: -10}]
limits:
  nftables.chain_present: [{table: svc}, {family: inet}]
ssh:
  nftables.append:
    - table: svc
    - family: inet
    - chain: input
    - protocol: tcp
    - dport: 22
    - source: 10.0.0.0/8
    - if: eth0
    - connstate: [new, established]
    - counter: true
    - log-prefix: "ssh: "
    - comment: the peel, and others
    - jump: accept
    - save: true
first:
  nftables.insert: [{table: svc}, {family: inet}, {chain: input}, {connstate: "established,related"}, {jump: accept}]
last:
  nftables.insert: [{table: svc}, {family: inet}, {chain: input}, {position: 3}, {proto: udp}, {sport: "1024:65535"}, {jump: drop}]
second:
  nftables.insert: [{table: svc}, {family: inet}, {chain: input}, {position: 2}, {proto: icmp}, {icmp-type: echo-request}, {jump: limits}]
web:
  nftables.append: [{table: svc}, {family: inet}, {chain: limits}, {proto: tcp}, {dports: [443, 80]}, {source: "! 10.9.0.0/16"}, {jump: reject}]
six:
  nftables.append: [{table: svc}, {family: inet}, {chain: limits}, {source: "fd00::/8"}, {jump: return}]
`;

test("rules of nftables are found as nft lists them, and stand where they should", async () => {
  const ids = "table input limits ssh first last second web six";
  const probe = "nft list table inet svc";
  expect(await brief(root, nftables, { test: true })).toBe(all(ids, "null+"));
  expect(await output(root, probe)).toContain("No such file or directory");
  expect(await brief(root, nftables)).toBe(all(ids, "true+"));
  const there = await output(root, probe);
  const rules = there
    .split("\n")
    .flatMap((line) => /^\t\t((?:ct|icmp|iifname|meta|udp) .*)$/.exec(line)?.[1] ?? []);
  expect(rules).toEqual([
    "ct state { established, related } accept",
    "icmp type echo-request jump limits",
    'iifname "eth0" ip saddr 10.0.0.0/8 tcp dport 22 ct state { established, new } counter packets 0 bytes 0 log prefix "ssh: " accept comment "the peel, and others"',
    "udp sport 1024-65535 drop",
  ]);
  expect(await brief(root, nftables)).toBe(all(ids, "true"));
  expect(await output(root, probe)).toBe(there);
  // The file of the boot has what was there when it was written, and loads.
  expect(
    await output(root, "nft --check --file /etc/nftables.conf && grep -c 'tcp dport 22' /etc/nftables.conf"),
  ).toBe("1");
  const beyond =
    "far:\n  nftables.insert: [{table: svc}, {family: inet}, {chain: input}, {position: 9}, {jump: drop}]\n";
  const [refused] = await root.apply(beyond);
  expect(refused).toMatchObject({
    result: false,
    comment: "position: the chain input has 4 rules, so it is at most 5",
  });
  const gone = `
second:
  nftables.delete: [{table: svc}, {family: inet}, {chain: input}, {proto: icmp}, {icmp-type: echo-request}, {jump: limits}]
flushed:
  nftables.flush: [{table: svc}, {family: inet}]
limits:
  nftables.chain_absent: [{table: svc}, {family: inet}]
table:
  nftables.table_absent: [{name: svc}, {family: inet}]
`;
  expect(await brief(root, gone)).toBe(all("second flushed limits table", "true+"));
  expect(await brief(root, gone)).toBe(all("second flushed limits table", "true"));
  expect(await output(root, probe)).toContain("No such file or directory");
});

test("rules, defaults and the state of ufw", async () => {
  await output(
    root,
    "printf '[Web]\\ntitle=Web\\ndescription=Web\\nports=80,443/tcp\\n' >/etc/ufw/applications.d/web",
  );
  const there = `
in:
  ufw.default_incoming: [{default: deny}]
out:
  ufw.default_outgoing: [{default: allow}]
ssh:
  ufw.allow: [{protocol: tcp}, {from_addr: 10.0.0.0/8}, {to_port: 22}, {comment: from here}]
ports:
  ufw.deny: [{protocol: udp}, {to_port: "6000:6007,7000"}]
app:
  ufw.allow: [{app: Web}]
device:
  ufw.reject: [{interface: eth0}, {protocol: tcp}, {from_port: 25}]
slow:
  ufw.limit: [{protocol: tcp}, {to_addr: 10.0.0.1}, {to_port: 443}]
on:
  ufw.enabled: []
`;
  const ids = "ssh ports app device slow on";
  expect(await brief(root, there, { test: true })).toBe(`in:true out:true ${all(ids, "null+")}`);
  expect(await brief(root, there)).toBe(`in:true out:true ${all(ids, "true+")}`);
  const status = await output(root, "ufw status verbose");
  expect(status).toContain("Status: active");
  expect(status).toMatch(/22\/tcp +ALLOW IN +10\.0\.0\.0\/8 +# from here/);
  expect(status).toMatch(/80,443\/tcp \(Web\) +ALLOW IN/);
  expect(await output(root, "iptables -S ufw-user-input")).toContain("--dport 22 -j ACCEPT");
  expect(await brief(root, there)).toBe(`in:true out:true ${all(ids, "true")}`);
  const other = "in:\n  ufw.default_incoming: [{default: reject}]\noff:\n  ufw.disabled: []\n";
  expect(await brief(root, other)).toBe("in:true+ off:true+");
  expect(await brief(root, other)).toBe("in:true off:true");
  const [refused] = await root.apply("bad:\n  ufw.allow: [{protocol: nonsense}, {to_port: 1}]\n");
  expect(refused).toMatchObject({ result: false, comment: expect.stringContaining("nonsense") });
});

const zone = `
internal:
  firewalld.present:
    - default: true
    - masquerade: true
    - services: [http, ssh]
    - prune_services: true
    - ports: [8080/tcp, 5000-5010/udp, 5005/udp]
    - port_fwd: ["80:8080:tcp", "81:8081:tcp:10.0.0.2"]
    - interfaces: [eth7]
    - sources: [10.1.0.0/16]
    - rich_rules: ['rule source address=10.3.0.0/16 family=ipv4 port protocol=tcp port=22 log prefix="in: " limit value=3/m accept']
    - block_icmp: [echo-reply]
own:
  firewalld.service: [{ports: [1000/tcp, 2000/udp]}, {protocols: [igmp]}]
mine:
  firewalld.present: [{services: [own]}, {require: [{firewalld: own}]}]
`;

test.each([false, true])("zones and services of firewalld (the daemon runs: %p)", async (isRunning) => {
  const clean = `systemctl stop firewalld; rm -rf /etc/firewalld/zones/* /etc/firewalld/services/*
    sed -i s/^DefaultZone=.*/DefaultZone=public/ /etc/firewalld/firewalld.conf`;
  expect(await output(root, `${clean}; ${isRunning ? "systemctl start dbus firewalld" : ""}`)).toBe("");
  const probe =
    "cat /etc/firewalld/zones/* /etc/firewalld/services/* 2>/dev/null; grep ^DefaultZone /etc/firewalld/firewalld.conf";
  const before = await output(root, probe);
  expect(await brief(root, zone, { test: true })).toBe("internal:null+ own:null+ mine:null+");
  expect(await output(root, probe)).toBe(before);
  expect(await brief(root, zone)).toBe("internal:true+ own:true+ mine:true+");
  const there = await output(root, probe);
  expect(there).toContain("DefaultZone=internal");
  expect(there).not.toContain("samba-client");
  expect(await brief(root, zone)).toBe("internal:true own:true mine:true");
  expect(await output(root, probe)).toBe(there);
  const loaded = await output(root, "nft list ruleset");
  expect(loaded.includes("tcp dport 8080 accept")).toBe(isRunning);
  const less = zone
    .replace(
      "[8080/tcp, 5000-5010/udp, 5005/udp]",
      "[5005/udp]\n    - prune_ports: true\n    - prune_rich_rules: true",
    )
    .replace(/rich_rules: \[.*\]/, "rich_rules: []")
    .replace("masquerade: true", "masquerade: false")
    .replace("[1000/tcp, 2000/udp]", "[1000/tcp]");
  expect(await brief(root, less)).toBe("internal:true+ own:true+ mine:true");
  expect(await brief(root, less)).toBe("internal:true own:true mine:true");
  expect(await output(root, probe)).toMatch(/<port port="5005" protocol="udp"\/>/);
  const bad = "internal:\n  firewalld.present: [{rich_rules: [rule nonsense]}]\n";
  const [refused] = await root.apply(bad);
  expect(refused).toMatchObject({
    result: false,
    comment: expect.stringContaining("unknown element nonsense"),
  });
});

// The address of a forwarded port, and of a rule of ufw, keeps the bits that do not count.
const spellings = [
  { family: "ipv6", one: "FD00::A", other: "fd00:0::a/128", isHost: true },
  { family: "ipv6", one: "fd00:0:0:1::5/64", other: "FD00:0:0:1::/64", isHost: false },
  { family: "ipv6", one: "::ffff:10.0.0.1", other: "::FFFF:a00:1", isHost: true },
  { family: "ipv4", one: "10.0.0.1", other: "10.0.0.1/32", isHost: true },
  { family: "ipv4", one: "10.1.2.3/8", other: "10.0.0.0/8", isHost: false },
];

test("each program finds an address in another spelling", async () => {
  expect(await output(root, "systemctl stop firewalld; rm -rf /etc/firewalld/zones/*")).toBe("");
  const make =
    "nft add table ip spelt; nft add chain ip spelt c; nft add table ip6 spelt; nft add chain ip6 spelt c";
  expect(await output(root, `${make}; iptables -N SPELT; ip6tables -N SPELT`)).toBe("");
  const rules = (family: string, address: string) => `
iptables:
  iptables.append: [{family: ${family}}, {chain: SPELT}, {source: "${address}"}, {jump: ACCEPT}]
nft:
  nftables.append: [{family: ${family}}, {table: spelt}, {chain: c}, {source: "${address}"}, {jump: accept}]
internal:
  firewalld.present:
    - sources: ["${address}"]
    - prune_sources: true
    - rich_rules: ['rule family=${family} source address=${address} accept']
    - prune_rich_rules: true
`;
  const more = (address: string) => `
forward:
  firewalld.present: [{name: internal}, {port_fwd: ["80:8080:tcp:${address.replace(/\/.*/, "")}"]}, {prune_port_fwd: true}]
ufw:
  ufw.allow: [{from_addr: "${address}"}, {protocol: tcp}, {to_port: 4711}]
`;
  for (const { family, one, other, isHost } of spellings) {
    const states = (address: string) => rules(family, address) + (isHost ? more(address) : "");
    const ids = `iptables nft internal${isHost ? " forward ufw" : ""}`;
    expect([one, await brief(root, states(one))]).toEqual([one, all(ids, "true+")]);
    expect([one, await brief(root, states(one))]).toEqual([one, all(ids, "true")]);
    expect([other, await brief(root, states(other))]).toEqual([other, all(ids, "true")]);
  }
  expect(await output(root, "iptables -S SPELT | wc -l; ip6tables -S SPELT | wc -l")).toBe("3\n4");
});
