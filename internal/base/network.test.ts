import { expect, test } from "bun:test";
import { parseNetwork } from "./network.ts";

test.each<[string, string, "ipv4" | "ipv6", number]>([
  ["192.0.2.0/24", "192.0.2.0", "ipv4", 24],
  ["192.0.2.1", "192.0.2.1", "ipv4", 32],
  ["0.0.0.0/0", "0.0.0.0", "ipv4", 0],
  ["fd00::/8", "fd00::", "ipv6", 8],
  ["::1", "::1", "ipv6", 128],
])("%s is a range", (text, address, family, prefix) => {
  expect(parseNetwork(text)).toEqual({ address, family, prefix });
});

test.each([
  "",
  "a",
  "1.2.3",
  "1.2.3.4/33",
  "::/129",
  "1.2.3.4/",
  "1.2.3.4/-1",
  "1.2.3.4/8/8",
  "fe80::1%eth0",
])("%j is not a range", (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});
