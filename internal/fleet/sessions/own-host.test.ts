import { expect, test } from "bun:test";
import { isOwnHost } from "./own-host.ts";

const names = {
  urls: ["https://master.example.com:8443", "https://svc.example.com"],
  certificate: ["master-1", "*.masters.example.com", "192.0.2.7", "2001:db8:0:0:0:0:0:1"],
  address: "192.0.2.9",
};

test.each<[host: string | null, owns: boolean]>([
  ["master.example.com:8443", true],
  ["MASTER.example.com:8443", true],
  ["svc.example.com", true],
  ["svc.example.com:443", true],
  // The certificate counts at any port: one master is reached through many.
  ["master-1:8443", true],
  ["master-1:9999", true],
  ["one.masters.example.com:8443", true],
  ["192.0.2.7:8443", true],
  ["[2001:db8::1]:8443", true],
  ["192.0.2.9:8443", true],
  // Another port is another program, which may be anyone's.
  ["master.example.com:8444", false],
  ["master.example.com", false],
  ["svc.example.com:8443", false],
  ["evil.example.com:8443", false],
  ["two.one.masters.example.com", false],
  ["masters.example.com", false],
  [".masters.example.com", false],
  ["master-1.evil.example.com", false],
  ["master-1@evil.example.com", false],
  ["master-1/evil", false],
  ["192.0.2.8:8443", false],
  ["[2001:db8::2]:8443", false],
  ["localhost:8443", false],
  ["", false],
  [null, false],
])("the host %j: %j", (host, owns) => {
  expect(isOwnHost(host, names)).toBe(owns);
});

test.each(["", "0.0.0.0", "::"])("a listener on %j is reached by every address", (address) => {
  expect(isOwnHost("198.51.100.1:8443", { ...names, address })).toBe(true);
  expect(isOwnHost("[2001:db8::99]:8443", { ...names, address })).toBe(true);
  // A name can be changed to any address.
  expect(isOwnHost("evil.example.com:8443", { ...names, address })).toBe(false);
});
