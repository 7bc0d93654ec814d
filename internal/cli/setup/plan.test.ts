import { expect, test } from "bun:test";
import { planFleet, type Wishes } from "./plan.ts";

const wishes = (changes: Partial<Wishes>): Wishes => ({
  dir: "/srv/fleet",
  hosts: [],
  hostname: "box",
  busPort: 4222,
  apiPort: 8443,
  ...changes,
});

const decided = (changes: Partial<Wishes>) => {
  const { names, busListen, apiListen, advertisedBusUrls, masterUrl } = planFleet(wishes(changes));
  return { names, listens: [busListen.host, apiListen.host], advertisedBusUrls, masterUrl };
};

test("without a name for others everything stays on this host", () => {
  const alone = {
    listens: ["127.0.0.1", "127.0.0.1"],
    advertisedBusUrls: [],
    masterUrl: "https://localhost:8443",
  };
  expect(decided({})).toEqual({ names: ["box", "localhost", "127.0.0.1"], ...alone });
  expect(decided({ hosts: ["localhost", "127.0.0.2"] })).toEqual({
    names: ["localhost", "127.0.0.2", "127.0.0.1"],
    ...alone,
  });
  // A name that no certificate can carry.
  expect(decided({ hostname: "my box!" })).toEqual({ names: ["localhost", "127.0.0.1"], ...alone });
});

test("the first name that others can use is where they connect", () => {
  expect(
    decided({ hosts: ["localhost", "10.0.0.5", "svc.example.com"], busPort: 5222, apiPort: 443 }),
  ).toEqual({
    names: ["localhost", "10.0.0.5", "svc.example.com", "127.0.0.1"],
    listens: ["0.0.0.0", ""],
    advertisedBusUrls: ["tls://10.0.0.5:5222"],
    masterUrl: "https://10.0.0.5:443",
  });
  expect(decided({ hosts: ["2001:db8::5"] })).toMatchObject({
    listens: ["::", ""],
    advertisedBusUrls: ["tls://[2001:db8::5]:4222"],
    masterUrl: "https://[2001:db8::5]:8443",
  });
});

test("an address to advertise goes before the names, and into the certificate", () => {
  expect(decided({ hosts: ["a.example"], advertise: { host: "b.example", port: 9443 } })).toEqual({
    names: ["a.example", "b.example", "localhost", "127.0.0.1"],
    listens: ["0.0.0.0", ""],
    advertisedBusUrls: ["tls://b.example:4222"],
    masterUrl: "https://b.example:9443",
  });
  for (const host of ["localhost", "127.0.0.1", "0.0.0.0", "169.254.1.1"]) {
    expect(() => planFleet(wishes({ advertise: { host, port: 8443 } }))).toThrow("--advertise: ");
  }
});
