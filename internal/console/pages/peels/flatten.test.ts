import { expect, test } from "bun:test";
import { flatten } from "./flatten.ts";

test("nested values are shown by the path that a target has", () => {
  const facts = {
    os: "Debian",
    ip: { eth0: ["10.0.0.1", "fe80::1"] },
    disks: [{ name: "sda" }],
    empty: {},
    no: null,
  };
  expect(flatten(facts)).toEqual([
    { path: "disks:0:name", text: "sda" },
    { path: "empty", text: "{}" },
    { path: "ip:eth0", text: "10.0.0.1, fe80::1" },
    { path: "no", text: "null" },
    { path: "os", text: "Debian" },
  ]);
});
