import { expect, test } from "bun:test";
import { BlockList } from "node:net";
import fc from "fast-check";
import { isInNetwork, parseIp, parseIpNetwork } from "./ip-network.ts";

const inRange = (address: string, network: string) => {
  const bytes = parseIp(address);
  const range = parseIpNetwork(network);
  if (bytes === undefined || range === undefined) throw new Error("not parsed");
  return isInNetwork(bytes, range);
};

test("addresses are read in every notation, and nothing else", () => {
  const hex = (text: string) => Buffer.from(parseIp(text) ?? []).toString("hex");
  expect(hex("192.0.2.1")).toBe("c0000201");
  expect(hex("::ffff:192.0.2.1")).toBe("c0000201");
  expect(hex("::FFFF:c000:0201")).toBe("c0000201");
  expect(hex("2001:db8::1")).toBe("20010db8000000000000000000000001");
  expect(hex("2001:db8:1:2:3:4:5:6")).toBe("20010db8000100020003000400050006");
  expect(hex("64:ff9b::192.0.2.1")).toBe("0064ff9b0000000000000000c0000201");
  expect(hex("::")).toBe("00".repeat(16));
  expect(hex("fe80::1%eth0")).toBe("fe800000000000000000000000000001");
  for (const text of ["", "web", "192.0.2", "192.0.2.256", "1::2::3", "192.0.2.1/24"]) {
    expect(parseIp(text)).toBeUndefined();
  }
});

test("ranges", () => {
  expect(inRange("192.0.2.200", "192.0.2.0/24")).toBe(true);
  expect(inRange("192.0.3.1", "192.0.2.0/24")).toBe(false);
  expect(inRange("192.0.2.130", "192.0.2.128/25")).toBe(true);
  expect(inRange("192.0.2.127", "192.0.2.128/25")).toBe(false);
  expect(inRange("2001:db8:0:1::9", "2001:db8::/32")).toBe(true);
  expect(inRange("2001:db9::9", "2001:db8::/32")).toBe(false);
  expect(inRange("192.0.2.1", "192.0.2.1")).toBe(true);
  expect(inRange("203.0.113.9", "0.0.0.0/0")).toBe(true);
  expect(inRange("2001:db8::1", "0.0.0.0/0")).toBe(false);
  expect(inRange("192.0.2.9", "::ffff:192.0.2.0/120")).toBe(true);
  for (const text of [
    "",
    "192.0.2.1/24",
    "192.0.2.0/33",
    "2001:db8::/129",
    "x/8",
    "192.0.2.0/",
    "1.2.3.4/-1",
    "1.0.0.0/8/8",
    "fe80::1%eth0",
  ]) {
    expect(parseIpNetwork(text)).toBeUndefined();
  }
});

test("a range holds what the platform's own list says", () => {
  fc.assert(
    fc.property(fc.ipV6(), fc.ipV6(), fc.integer({ min: 0, max: 128 }), (base, address, bits) => {
      const bytes = parseIp(base);
      const requested = parseIp(address);
      if (bytes?.length !== 16 || requested?.length !== 16) return;
      const list = new BlockList();
      list.addSubnet(base, bits, "ipv6");
      const masked = bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8))));
      expect(isInNetwork(requested, { bytes: masked, bits })).toBe(list.check(address, "ipv6"));
      expect(isInNetwork(bytes, { bytes: masked, bits })).toBe(true);
    }),
  );
});
