import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemRandom } from "../../internal/base/id.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { openRunRecord, searchRun } from "./run-record.ts";
import { createSearch, type Secret, secretsBelow, secretsIn } from "./secrets.ts";
import { temporaryDirectory } from "./temporary.ts";

// The search at the end of a run: a secret that it cannot find would go unnoticed.

const files = temporaryDirectory("secrets");
afterAll(() => files[Symbol.dispose]());

const { seed } = newKeyPair("user", systemRandom);
const random = (length: number) => Buffer.from(systemRandom(length));
const jwt = `eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJYWFhYIn0.${random(64).toString("base64url")}`;
const keyLines = [random(48).toString("base64"), random(48).toString("base64"), "AAAA"];
const pem = `-----BEGIN PRIVATE KEY-----\n${keyLines.join("\n")}\n-----END PRIVATE KEY-----\n`;

test("seeds, JWTs and private keys are known by their form", () => {
  expect(secretsIn(`a ${seed}\n${jwt} ${pem}`)).toEqual([
    { kind: "key seed", value: seed },
    { kind: "JWT", value: jwt.split(".")[2] ?? "" },
    { kind: "private key", value: keyLines[0] ?? "" },
    { kind: "private key", value: keyLines[1] ?? "" },
  ]);
  expect(secretsIn("SUMMARY eyJ PRIVATE KEY")).toEqual([]);
});

test("a text that ends within a secret does not contain it", () => {
  const secret: Secret = { kind: "join token", value: `svcjoin1.${random(200).toString("base64url")}` };
  const search = createSearch([secret]);
  expect(search(Buffer.from(`see ${secret.value.slice(0, 40)}`))).toEqual([]);
  expect(search(Buffer.from(`see ${secret.value}`))).toHaveLength(1);
});

const token: Secret = { kind: "token", value: "t0ken-of-somebody" };
const whole: Secret = { kind: "key seed", value: seed };
const inside = (bytes: Uint8Array, before: number) =>
  Buffer.concat([random(before), bytes, random(5)]).toString("base64");

test.each([
  ["as it is", token, token.value],
  ["within a word", token, `x${token.value}x`],
  ["in hex", token, Buffer.from(token.value).toString("hex")],
  ["in capital hex", token, Buffer.from(token.value).toString("hex").toUpperCase()],
  ["in base64", token, Buffer.from(token.value).toString("base64")],
  ["in base64 behind one byte", token, inside(Buffer.from(token.value), 1)],
  ["in base64 behind two bytes", token, inside(Buffer.from(token.value), 2)],
  ["in base64 behind three bytes", token, inside(Buffer.from(token.value), 3)],
  [
    "in base64url",
    { kind: "token", value: "????>>>>????>>>>" },
    Buffer.from("????>>>>????>>>>").toString("base64url"),
  ],
  ["as a seed", whole, `{"seed":"${seed}"}`],
  ["as the bytes of a seed in hex", whole, rawSeed().toString("hex")],
  ["as the bytes of a seed in base64", whole, rawSeed().toString("base64")],
] as const)("a secret is found %s, with its kind and line", (_, secret, text) => {
  const search = createSearch([{ kind: "other", value: "never-said-by-anybody" }, secret]);
  expect(search(Buffer.from(`first line\n{"msg":"${text}"}\n`))).toEqual([{ kind: secret.kind, line: 2 }]);
});

function rawSeed(): Buffer {
  const bits = [...seed].map((digit) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit).toString(2).padStart(5, "0"),
  );
  const bytes = (bits.join("").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes.slice(2, 34));
}

test("of many secrets each is found, and nothing else", () => {
  const many = Array.from(
    { length: 500 },
    (): Secret => ({ kind: "token", value: random(12).toString("hex") }),
  );
  const search = createSearch(many);
  for (const { value } of many) expect(search(Buffer.from(`a ${value} b`))).toHaveLength(1);
  expect(search(Buffer.from(random(100_000).toString("hex")))).toEqual([]);
});

test("the files that only their owner may read are looked into, those of a token for the token", () => {
  const at = join(files.path, "tree");
  mkdirSync(join(at, "deep"), { recursive: true });
  writeFileSync(join(at, "deep", "user.creds"), `${seed}\n`, { mode: 0o600 });
  writeFileSync(join(at, "api-token"), "an-api-token-0001\n", { mode: 0o600 });
  writeFileSync(join(at, "public"), `${jwt}\n`, { mode: 0o644 });
  expect(secretsBelow(at).toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
    { kind: "key seed", value: seed },
    { kind: "token", value: "an-api-token-0001" },
  ]);
});

test("a run that says a secret is found out, and told without it", () => {
  const run = openRunRecord(join(files.path, "run"));
  const tree = join(files.path, "removed");
  mkdirSync(tree);
  writeFileSync(join(tree, "user.seed"), seed, { mode: 0o600 });
  run.harvest(tree);
  run.register("token", token.value);
  const log = run.openLog("program");
  log.write('{"msg":"started"}\n');
  expect(searchRun(join(files.path, "run"))).toEqual({ logs: 1, secrets: 2, found: [] });
  log.close();
  log.write(`late: ${seed}\n`);
  const { found } = searchRun(join(files.path, "run"));
  expect(found).toEqual([{ file: expect.stringContaining("program"), kind: "key seed", line: 2 }]);
  expect(JSON.stringify(found)).not.toContain(seed);
  expect(statSync(join(files.path, "run", "secrets")).mode & 0o777).toBe(0o600);
  expect(() => run.register("token", "short")).toThrow("too short");
  expect(
    readFileSync(join(files.path, "run", "secrets"), "utf8")
      .trimEnd()
      .split("\n"),
  ).toHaveLength(2);
});
