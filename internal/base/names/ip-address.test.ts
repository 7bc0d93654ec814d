import { expect, test } from "bun:test";
import { canonicalAddress, canonicalNetwork } from "./ip-address.ts";

test.each([
  ["FD00::A", "fd00::a"],
  ["fd00:0::a", "fd00::a"],
  ["fd00:0000:0:0:0:0:0:000a", "fd00::a"],
  ["fd00:0:1::", "fd00:0:1::"],
  ["::FFFF:a00:1", "::ffff:10.0.0.1"],
  ["0::ffff:10.0.0.1", "::ffff:10.0.0.1"],
  ["::10.0.0.1", "::10.0.0.1"],
  ["0:0::1", "::1"],
  ["::", "::"],
  ["FE80::1%eth0", "fe80::1%eth0"],
  ["10.0.0.1", "10.0.0.1"],
  ["Web-1", "Web-1"],
])("%s is %s", (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
  expect(canonicalNetwork(text)).toBe(canonical);
});

test.each([
  ["10.0.0.1/32", "10.0.0.1"],
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.1.2.3/255.255.0.0", "10.1.0.0/16"],
  ["10.1.2.3/0.0.0.0", "0.0.0.0/0"],
  ["10.1.2.3/255.0.255.0", "10.1.2.3/255.0.255.0"],
  ["10.1.2.3/33", "10.1.2.3/33"],
  ["10.1.2.3/x", "10.1.2.3/x"],
  ["FD00:0::5/64", "fd00::/64"],
  ["FD00::5/128", "fd00::5"],
  ["::ffff:10.0.0.1/120", "::ffff:10.0.0.0/120"],
  ["fd00:1:2:3:4:5:6:7/20", "fd00::/20"],
  ["::1/0", "::/0"],
  ["a/b", "a/b"],
  ["10.0.0.1/8/8", "10.0.0.1/8/8"],
])("the network %s is %s", (text, canonical) => {
  expect(canonicalNetwork(text)).toBe(canonical);
});
