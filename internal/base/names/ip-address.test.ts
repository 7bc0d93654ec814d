import { expect, test } from "bun:test";
import { canonicalAddress } from "./ip-address.ts";

test.each([
  ["FD00::A", "fd00::a"],
  ["fd00:0::a", "fd00::a"],
  ["fd00:0000:0:0:0:0:0:000a", "fd00::a"],
  ["::ffff:10.0.0.1", "::ffff:a00:1"],
  ["FE80::1%eth0", "fe80::1%eth0"],
  ["10.0.0.1", "10.0.0.1"],
  ["Web-1", "Web-1"],
])("%s is %s", (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
});
