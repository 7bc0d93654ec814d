import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SvcError } from "../errors.ts";
import { assertAdvertiseUrl, assertBusUrl } from "./bus-url.ts";

const good = [
  "tls://bus:4222",
  "tls://bus",
  "TLS://bus.example.com:443/",
  "tls://10.0.0.1:4222",
  "tls://128.0.0.1:4222",
  "tls://[2001:db8::1]:4222",
  "tls://[2001:db8::7f00:1]:4222",
  "tls://[::ffff:10.0.0.1]:4222",
  "tls://localhost.example.com:4222",
  "tls://mylocalhost:4222",
];

const loopback = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "localhost.localdomain",
  "ip6-localhost",
  "ip6-loopback",
  "127.0.0.1",
  "127.0.0.1.",
  "127.255.255.254",
  "127.1",
  "127.0.1",
  "2130706433",
  "2147483646",
  "017700000001",
  "0177.0.0.1",
  "0x7f.1",
  "0X7F.0.0.1",
  "0x7f000001",
  "0x7f.0x0.0x0.0x1",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000::0001]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f12:3456]",
  "[::127.0.0.1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
];
const unspecified = ["0.0.0.0", "0", "0x0", "0.1", "[::]", "[0::0]", "[::ffff:0.0.0.0]"];
const linkLocal = ["169.254.1.1", "0xa9fe0101", "[fe80::1]", "[febf::1]", "[::ffff:169.254.169.254]"];

const malformed = [
  "",
  "bus:4222",
  "tls:bus:4222",
  "tls:///",
  "tls://",
  "tls://:4222",
  "tls://bus:",
  "tls://bus:0",
  "tls://bus:65536",
  "tls://bus:4222/path",
  "tls://bus:4222?x",
  "tls://bus:4222#x",
  "tls://local\thost:4222",
  "tls://local\nhost",
  " tls://bus:4222",
  "tls://bus:4222 ",
  "tls://bus\\@x:4222",
  "tls://%6c%6fcalhost:4222",
  "tls://１２７.0.0.1:4222",
  "tls://[fe80::1%25eth0]:4222",
  "tls://[::1",
  "tls://256.1.1.1:4222",
  "tls://a,b:4222",
];

describe("bus URLs", () => {
  test.each(good)("%s is valid for other hosts", (url) => {
    assertBusUrl("k", url);
    assertAdvertiseUrl("k", url);
  });

  test.each([
    ...loopback.map((host) => [host, "loopback"]),
    ...unspecified.map((host) => [host, "unspecified"]),
    ...linkLocal.map((host) => [host, "link-local"]),
  ])("%s is %s: fine for this host, refused for others", (host, scope) => {
    for (const url of [`tls://${host}`, `tls://${host}:4222`, `TLS://${host}:1/`]) {
      assertBusUrl("k", url);
      expect(() => assertAdvertiseUrl("bus_advertise_urls", url)).toThrow(
        `bus_advertise_urls: a ${scope} address cannot be reached by other hosts`,
      );
    }
  });

  test.each(malformed)("%j is refused by both", (url) => {
    expect(() => assertBusUrl("k", url)).toThrow("k: ");
    expect(() => assertAdvertiseUrl("k", url)).toThrow("k: ");
  });

  test.each(["nats://bus:4222", "ws://bus", "wss://bus", "http://bus", "Nats://bus"])(
    "%s is refused as plaintext",
    (url) => {
      expect(() => assertBusUrl("bus_url", url)).toThrow(
        /^bus_url: only tls:\/\/ is accepted, not \w+:\/\/.*plaintext$/i,
      );
    },
  );

  test("a password is refused and not repeated", () => {
    const url = "tls://me:hunter2@bus:4222";
    expect(() => assertBusUrl("bus_url", url)).toThrow("bus_url: a URL may not hold a user name");
    expect(() => assertBusUrl("bus_url", url)).not.toThrow("hunter2");
  });

  test("every address of 127.0.0.0/8 is loopback in decimal, octal and hexadecimal", () => {
    const rest = fc.integer({ min: 0, max: 0xffffff });
    fc.assert(
      fc.property(rest, (low) => {
        const address = 0x7f000000 + low;
        for (const host of [`${address}`, `0${address.toString(8)}`, `0x${address.toString(16)}`]) {
          expect(() => assertAdvertiseUrl("k", `tls://${host}:4222`)).toThrow("loopback");
        }
      }),
    );
  });

  test("no text makes it throw anything but SvcError", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.string().map((text) => `tls://${text}`),
        ),
        (url) => {
          try {
            assertAdvertiseUrl("k", url);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(SvcError);
          }
        },
      ),
    );
  });
});
