import { expect, test } from "bun:test";
import { createWebhookAddresses } from "./addresses.ts";

const none = createWebhookAddresses([]);

test.each<[string, string]>([
  ["127.0.0.1", "a loopback address"],
  ["127.9.9.9", "a loopback address"],
  ["0.0.0.0", "a loopback address"],
  ["::1", "a loopback address"],
  ["::", "a loopback address"],
  ["::ffff:127.0.0.1", "a loopback address"],
  ["::ffff:7f00:1", "a loopback address"],
  ["::7f00:1", "a loopback address"],
  ["64:ff9b::7f00:1", "a loopback address"],
  ["2002:7f00:1::", "a loopback address"],
  ["169.254.169.254", "a metadata address"],
  ["::ffff:169.254.169.254", "a metadata address"],
  ["64:ff9b::a9fe:a9fe", "a metadata address"],
  ["100.100.100.200", "a metadata address"],
  ["168.63.129.16", "a metadata address"],
  ["fd00:ec2::254", "a metadata address"],
  ["169.254.1.1", "a link-local address"],
  ["fe80::1", "a link-local address"],
  ["febf::1", "a link-local address"],
  ["fe80::1%eth0", "a link-local address"],
  ["224.0.0.1", "a multicast address"],
  ["ff02::1", "a multicast address"],
])("%s is refused as %s", (address, kind) => {
  expect(none.refusal("hooks.example.com", address)).toBe(kind);
});

test.each(["192.0.2.1", "10.0.0.1", "126.255.255.255", "128.0.0.1", "2001:db8::1", "fd00::1", "fec0::1"])(
  "%s is allowed",
  (address) => {
    expect(none.refusal("hooks.example.com", address)).toBeUndefined();
  },
);

test("an entry allows a host by its name, an address, or a range, and nothing else", () => {
  const { refusal } = createWebhookAddresses(["Local.Example.com", "127.0.0.2", "fe80::/64"]);
  expect(refusal("local.example.com", "127.0.0.1")).toBeUndefined();
  expect(refusal("local.example.com.", "127.0.0.1")).toBeUndefined();
  expect(refusal("a.local.example.com", "127.0.0.1")).toBeString();
  expect(refusal("x", "127.0.0.2")).toBeUndefined();
  expect(refusal("x", "127.0.0.1")).toBeString();
  expect(refusal("x", "fe80::7")).toBeUndefined();
  expect(refusal("x", "fe80:0:0:1::7")).toBeString();
});

test("a range of IPv6 does not allow IPv4 addresses written as IPv6", () => {
  const { refusal } = createWebhookAddresses(["::/0"]);
  expect(refusal("x", "::1")).toBeUndefined();
  expect(refusal("x", "::ffff:127.0.0.1")).toBeString();
});

test("what is not an address is refused", () => {
  expect(none.refusal("x", "localhost")).toBe("a malformed address");
});
