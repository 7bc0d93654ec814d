import { expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../mod.ts";
import { parseRecoveryKeys } from "./recovery-keys.ts";
import {
  isSigned,
  parseSuccession,
  type Succession,
  signSuccession,
  successionMessage,
} from "./statement.ts";

const keyOf = (fill: number): KeyPair => newKeyPair("user", (size) => Buffer.alloc(size, fill));
const [recovery, command, next] = [keyOf(1), keyOf(2), keyOf(3)];

const statement: Succession = {
  v: 1,
  serial: 300,
  issued_at: "2026-01-02T03:04:05.678Z",
  ca_bundle_pem: `-----BEGIN CERTIFICATE-----\n${"A".repeat(300)}\n-----END CERTIFICATE-----\n`,
  fingerprint: `sha256:${"0".repeat(64)}`,
  command_keys: [command.publicKey],
  recovery_keys: [recovery.publicKey, next.publicKey],
  master_urls: ["https://svc.example.com:8443"],
  bus_urls: ["tls://svc.example.com:4222"],
};

/** MessagePack by its specification, without the product's codec: only what a statement holds. */
function pack(value: unknown): Buffer {
  if (typeof value === "number") {
    if (value < 0x80) return Buffer.of(value);
    if (value < 0x100) return Buffer.of(0xcc, value);
    if (value < 0x10000) return Buffer.of(0xcd, value >> 8, value & 0xff);
    return Buffer.of(0xce, value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff);
  }
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "utf8");
    const head =
      bytes.length < 32
        ? Buffer.of(0xa0 | bytes.length)
        : bytes.length < 0x100
          ? Buffer.of(0xd9, bytes.length)
          : Buffer.of(0xda, bytes.length >> 8, bytes.length & 0xff);
    return Buffer.concat([head, bytes]);
  }
  if (Array.isArray(value)) {
    const head = value.length < 16 ? Buffer.of(0x90 | value.length) : Buffer.of(0xdc, 0, value.length);
    return Buffer.concat([head, ...value.map(pack)]);
  }
  const fields = Object.entries(value as object);
  return Buffer.concat([
    Buffer.of(0x80 | fields.length),
    ...fields.flatMap(([name, one]) => [pack(name), pack(one)]),
  ]);
}

test.each([1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31 - 1])(
  "the signed bytes, with serial %p",
  (serial) => {
    const one = { ...statement, serial };
    const expected = Buffer.concat([Buffer.from("svc/succession/v1\0"), pack(one)]);
    expect(Buffer.from(successionMessage(one)).toString("hex")).toBe(expected.toString("hex"));
    // Whatever order they come in, and with the signature among them.
    const reversed = Object.fromEntries(Object.entries(signSuccession(one, recovery)).reverse());
    expect(Buffer.from(successionMessage(reversed as unknown as Succession)).equals(expected)).toBe(true);
  },
);

test("a fixed statement has a fixed signature", () => {
  const small: Succession = {
    ...statement,
    serial: 1,
    ca_bundle_pem: "pem",
    fingerprint: "sha256:00",
    command_keys: ["C"],
    recovery_keys: ["R"],
    master_urls: ["https://m"],
    bus_urls: ["tls://b"],
  };
  expect(Buffer.from(successionMessage(small)).toString("hex")).toBe(
    "7376632f73756363657373696f6e2f763100" +
      "89a17601a673657269616c01a96973737565645f6174b8323032362d30312d30325430333a30343a30352e3637385a" +
      "ad63615f62756e646c655f70656da370656dab66696e6765727072696e74a97368613235363a3030" +
      "ac636f6d6d616e645f6b65797391a143ad7265636f766572795f6b65797391a152" +
      "ab6d61737465725f75726c7391a968747470733a2f2f6d" +
      "a86275735f75726c7391a7746c733a2f2f62",
  );
  const { signature, key } = signSuccession(small, recovery);
  expect(key).toBe("UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L");
  expect(signature).toBe(
    "9iLi1of1E1Zw9uje2j78xlY9ewsj7JhK2IQYqP9W45WqEaHl5a9anmDDDthvDeuYTlhpN4ZPEJrQgYRjsGu/Bw==",
  );
});

test("what the recovery key signed is signed, and nothing else", () => {
  const signed = signSuccession(statement, recovery);
  expect(isSigned(parseSuccession(JSON.parse(JSON.stringify(signed))))).toBe(true);
  const changes: Partial<typeof signed>[] = [
    { serial: 301 },
    { issued_at: "2026-01-02T03:04:05.679Z" },
    { ca_bundle_pem: `${statement.ca_bundle_pem}\n` },
    { fingerprint: `sha256:${"1".repeat(64)}` },
    { command_keys: [next.publicKey] },
    { recovery_keys: [recovery.publicKey] },
    { recovery_keys: [next.publicKey, recovery.publicKey] },
    { master_urls: ["https://thief.example.com"] },
    { bus_urls: ["tls://thief.example.com"] },
    { key: next.publicKey },
    { signature: signSuccession(statement, next).signature },
    { signature: "" },
    { signature: `${signed.signature}AA` },
  ];
  for (const change of changes) expect(isSigned({ ...signed, ...change })).toBe(false);
  // With any other key it is a statement of that key, which no peel knows.
  expect(signSuccession(statement, next).key).toBe(next.publicKey);
});

test("an implementation from the description alone signs the same", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const body = Buffer.concat([Buffer.from("svc/succession/v1\0"), pack(statement)]);
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32);
  const own = newKeyPair("user", () => seed);
  expect(keyPairFromSeed("user", own.seed).publicKey).toBe(own.publicKey);
  const signature = sign(null, body, privateKey).toString("base64");
  expect(signSuccession(statement, own).signature).toBe(signature);
  expect(raw.length).toBe(32);
});

test.each([
  [null, "its top"],
  [[], "v"],
  [{ v: 2 }, "v"],
  [{ serial: 0 }, "serial"],
  [{ serial: 1.5 }, "serial"],
  [{ serial: "1" }, "serial"],
  [{ serial: 2 ** 31 }, "serial"],
  [{ issued_at: "yesterday" }, "issued_at"],
  [{ command_keys: [] }, "command_keys"],
  [{ command_keys: ["U"] }, "command_keys"],
  [{ recovery_keys: [] }, "recovery_keys"],
  [{ recovery_keys: [1] }, "recovery_keys.0"],
  [{ recovery_keys: "U" }, "recovery_keys"],
  [{ master_urls: [] }, "master_urls"],
  [{ bus_urls: undefined }, "bus_urls"],
  [{ bus_urls: Array(65).fill("tls://b") }, "bus_urls"],
  [{ signature: undefined }, "signature"],
  [{ ca_bundle_pem: "A".repeat(70_000) }, "ca_bundle_pem"],
])("a malformed statement is reported by its field: %#", (change, field) => {
  const isChange = typeof change === "object" && change !== null && !Array.isArray(change);
  const value = isChange ? { ...signSuccession(statement, recovery), ...change } : change;
  expect(() => parseSuccession(value)).toThrow(`malformed at ${field}`);
});

test("a file of recovery keys", () => {
  const text = `${recovery.publicKey}\n${next.publicKey}\n${recovery.publicKey}\n`;
  expect(parseRecoveryKeys("f", text)).toEqual([recovery.publicKey, next.publicKey]);
  for (const bad of ["", "\n", recovery.publicKey.slice(0, -1), `${recovery.publicKey}\nx`, recovery.seed]) {
    expect(() => parseRecoveryKeys("f", bad)).toThrow("f does not contain the public key");
  }
});
