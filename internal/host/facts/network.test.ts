import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { collectFacts } from "./collect.ts";
import { networkFacts, parseIpv4Gateway, parseIpv6Gateway, parseResolvConf } from "./network.ts";

const heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const zeros = "0".repeat(32);

test("the gateway is that of the default route with the lowest metric", () => {
  const routes =
    "eth1\t00000000\t0100000A\t0003\t0\t0\t200\t00000000\t0\t0\t0\neth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\neth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  expect(parseIpv4Gateway(heading + routes)).toBe("192.0.2.1");
  expect(
    parseIpv4Gateway(`${heading}tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n`),
  ).toBeUndefined();
  expect(parseIpv4Gateway("")).toBeUndefined();
});

test.each([
  ["fe80000000000000000000000000dead", "fe80::dead"],
  ["20010db8000000010000000000000001", "2001:db8:0:1::1"],
  ["20010db8000100020003000400050006", "2001:db8:1:2:3:4:5:6"],
])("the IPv6 gateway %s is written %s", (digits, expected) => {
  const route = `${zeros} 00 ${zeros} 00 ${digits} 00000064 00000001 00000000 00000003     eth0\n`;
  const worse = route.replace("00000064", "00000400").replace(digits, "f".repeat(32));
  const refused = `${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200       lo\n`;
  expect(parseIpv6Gateway(worse + route + refused)).toBe(expected);
});

test("resolv.conf: the last search list applies, comments are ignored", () => {
  const text =
    "# made by hand\nnameserver 10.0.0.53 ; first\nnameserver 2001:db8::53\nsearch old.example\nsearch a.example b.example\noptions edns0 trust-ad\nnameserver\n";
  expect(parseResolvConf(text)).toEqual({
    nameservers: ["10.0.0.53", "2001:db8::53"],
    search: ["a.example", "b.example"],
    domain: "",
    options: ["edns0", "trust-ad"],
  });
});

test("short-lived addresses are left out", async () => {
  const host = fixtureHost({
    hostname: "web-1.eu.example.com",
    files: {
      "/proc/net/if_inet6":
        "20010db8000000000000000000000010 02 40 00 80     eth0\n20010db800000000a1b2c3d4e5f60718 02 40 00 01     eth0\n",
      "/sys/class/net/eth0/address": "02:fc:00:00:00:01\n",
      "/sys/class/net/veth1a2b/address": "02:fc:00:00:00:09\n",
      "/sys/class/net/tun0/address": "\n",
    },
    interfaces: {
      veth1a2b: [{ address: "169.254.1.1", family: "IPv4", mac: "02:fc:00:00:00:09" }],
      lo: [{ address: "127.0.0.1", family: "IPv4", mac: "00:00:00:00:00:00" }],
      eth0: [
        { address: "192.0.2.2", family: "IPv4", mac: "02:fc:00:00:00:01" },
        { address: "2001:db8::10", family: "IPv6", mac: "02:fc:00:00:00:01" },
        { address: "2001:db8::a1b2:c3d4:e5f6:718", family: "IPv6", mac: "02:fc:00:00:00:01" },
      ],
    },
  });
  expect((await collectFacts(networkFacts, host, manualClock())).facts).toEqual({
    fqdn: "web-1.eu.example.com",
    host: "web-1",
    ...{ localhost: "web-1.eu.example.com", nodename: "web-1" },
    domain: "eu.example.com",
    ipv4: ["127.0.0.1", "192.0.2.2"],
    ipv6: ["2001:db8::10"],
    ...{ fqdn_ip4: ["192.0.2.2"], fqdn_ip6: ["2001:db8::10"] },
    ip_interfaces: { eth0: ["192.0.2.2", "2001:db8::10"], lo: ["127.0.0.1"] },
    ip4_interfaces: { eth0: ["192.0.2.2"], lo: ["127.0.0.1"] },
    ip6_interfaces: { eth0: ["2001:db8::10"], lo: [] },
    hwaddr_interfaces: { eth0: "02:fc:00:00:00:01" },
  });
});

test("without /sys the hardware addresses come from the runtime", async () => {
  const host = fixtureHost({
    platform: "darwin",
    hostname: "laptop",
    interfaces: { en0: [{ address: "192.0.2.9", family: "IPv4", mac: "a4:83:e7:00:00:01" }] },
  });
  expect((await collectFacts(networkFacts, host, manualClock())).facts).toMatchObject({
    host: "laptop",
    domain: "",
    hwaddr_interfaces: { en0: "a4:83:e7:00:00:01" },
  });
});
