import { expect, test } from "bun:test";
import { isOlderVersion } from "./dotted-version.ts";

test.each([
  ["2.9.10", "2.10.27", true],
  ["2.10.9", "2.10.27", true],
  ["2.10.27", "2.10.27", false],
  ["v2.10.27-beta", "2.10.27", false],
  ["2.15.1", "2.10.27", false],
  ["3.0.0", "2.10.27", false],
  ["unknown", "2.10.27", true],
])("%s is older than %s: %p", (version, than, older) => {
  expect(isOlderVersion(version, than)).toBe(older);
});
