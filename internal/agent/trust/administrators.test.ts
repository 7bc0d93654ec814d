import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { formatCredentials } from "../../identity/credentials.ts";
import { encodeJwt } from "../../identity/jwt.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import {
  type AdministratorsStatement,
  encodeAdministrators,
  signAdministrators,
} from "../../wire/administrators-statement.ts";
import { createAdministrators, learnedIn } from "./administrators.ts";

const newKey = () => newKeyPair("user", systemRandom);
const account = newKeyPair("account", systemRandom);
const other = newKeyPair("account", systemRandom);
const keys = { root: newKey(), bert: newKey(), carl: newKey(), eve: newKey() };
type Name = keyof typeof keys;
const named = (...names: Name[]) => names.map((name) => ({ name, publicKey: keys[name].publicKey }));

const directory = temporaryDirectory("administrators");
afterAll(() => directory[Symbol.dispose]());
const files = {
  administrators: join(directory.path, "administrators"),
  credentials: join(directory.path, "web.creds"),
};
const credentialsOf = (signer: KeyPair, issuerAccount?: string) => {
  const user = newKey();
  const claims = { type: "user", name: "web", subject: user.publicKey, issuedAt: 0, nats: {} } as const;
  return formatCredentials(
    encodeJwt(claims, issuerAccount === undefined ? signer : { ...signer, issuerAccount }),
    user.seed,
  );
};

let log = recordingLog();
const open = () => createAdministrators(files, log);
const learned = (version: number, ...names: Name[]) => ({
  list: named(...names),
  version,
  fleet: account.publicKey,
});
const statement = (version: number, names: Name[], by: Name, more: Partial<AdministratorsStatement> = {}) => {
  const said = { fleet: account.publicKey, version, administrators: named(...names), issuedAt: 5, ...more };
  return encodeAdministrators(signAdministrators(said, keys[by]));
};
const names = ({ current }: ReturnType<typeof open>) => current.map(({ name }) => name);

beforeEach(() => {
  log = recordingLog();
  rmSync(files.administrators, { force: true });
  writeFileSync(files.credentials, credentialsOf(account));
});

test("a statement of an administrator replaces the list, also after a restart", () => {
  const peel = open();
  peel.learn(learned(0, "root", "bert"));
  peel.take([statement(1, ["bert", "carl"], "root")]);
  expect([names(peel), peel.version]).toEqual([["bert", "carl"], 1]);
  const again = open();
  expect([names(again), again.version]).toEqual([["bert", "carl"], 1]);
  expect(readFileSync(files.administrators, "utf8")).toBe(
    `# version 1 ${account.publicKey}\n${keys.bert.publicKey} bert\n${keys.carl.publicKey} carl\n`,
  );
});

test("a peel that was off follows each statement, from the list that it has", () => {
  const peel = open();
  peel.learn(learned(0, "root"));
  peel.take([statement(1, ["bert"], "root"), statement(2, ["carl"], "bert"), statement(3, ["eve"], "carl")]);
  expect([names(peel), peel.version]).toEqual([["eve"], 3]);
});

test("a list that was learned later starts at its version", () => {
  const peel = open();
  peel.learn(learned(2, "root", "carl"));
  peel.take([statement(1, ["bert"], "root"), statement(2, ["eve"], "root")]);
  expect([names(peel), peel.version]).toEqual([["root", "carl"], 2]);
  peel.take([statement(3, ["carl"], "root")]);
  expect(names(peel)).toEqual(["carl"]);
});

test("a peel with the credentials of a signing key knows its fleet", () => {
  writeFileSync(files.credentials, credentialsOf(newKeyPair("account", systemRandom), account.publicKey));
  const peel = open();
  peel.learn(learned(0, "root"));
  peel.take([statement(1, ["bert"], "root")]);
  expect(names(peel)).toEqual(["bert"]);
});

test("in the fleet that succeeds its own, the versions of that fleet count", () => {
  const peel = open();
  peel.learn(learned(7, "root"));
  writeFileSync(files.credentials, credentialsOf(other));
  expect(open().version).toBe(0);
  peel.take([statement(8, ["eve"], "root"), statement(1, ["bert"], "root", { fleet: other.publicKey })]);
  expect([names(peel), peel.version]).toEqual([["bert"], 1]);
});

describe("is refused:", () => {
  const good = () => statement(3, ["bert"], "root");
  const malformed = (change: object) => {
    const made = { v: 1, fleet: account.publicKey, version: 3 };
    return encode({ ...made, ...change });
  };
  const cases: [what: string, bytes: () => Uint8Array, reason: string][] = [
    ["signed by a key that is not listed", () => statement(3, ["eve"], "eve"), "is not of an administrator"],
    ["signed by one who left", () => statement(3, ["carl"], "carl"), "is not of an administrator"],
    ["an older version", () => statement(1, ["eve"], "root"), "this peel follows version 2"],
    ["the same version with another list", () => statement(2, ["eve"], "root"), "follows version 2"],
    [
      "of another fleet",
      () => statement(3, ["bert"], "root", { fleet: other.publicKey }),
      "it is for the fleet",
    ],
    ["an empty list", () => statement(3, [], "root"), "must name an administrator"],
    ["a name twice", () => statement(3, ["bert", "bert"], "root"), "each administrator and each key once"],
    ["version 0", () => statement(0, ["bert"], "root"), "version"],
    ["a huge version", () => statement(2 ** 31, ["bert"], "root"), "version"],
    ["no version", () => malformed({ version: undefined }), "malformed: version"],
    ["another form", () => malformed({ v: 2 }), "malformed: v"],
    ["nothing", () => new Uint8Array(), "malformed"],
    ["too long", () => encode("x".repeat(20_000)), "at most 16384 bytes"],
    [
      "the signature of another statement",
      () => {
        const bytes = Uint8Array.from(good());
        bytes.set(statement(3, ["eve"], "root").slice(-64), bytes.length - 64);
        return bytes;
      },
      "the signature of root is wrong",
    ],
  ];
  test.each(cases)("%s", (_, bytes, reason) => {
    const peel = open();
    peel.learn(learned(0, "carl"));
    peel.take([statement(1, ["root"], "carl"), statement(2, ["root", "bert"], "root")]);
    const before = readFileSync(files.administrators, "utf8");
    peel.take([bytes()]);
    expect([names(peel), peel.version]).toEqual([["root", "bert"], 2]);
    expect(readFileSync(files.administrators, "utf8")).toBe(before);
    expect(log.records.filter(({ level }) => level === "warn")).toMatchObject([
      {
        event: "a statement about administrators is refused",
        fields: { reason: expect.stringContaining(reason) },
      },
    ]);
    // It does not keep the next good one out.
    peel.take([bytes(), good()]);
    expect(names(peel)).toEqual(["bert"]);
  });

  test("any other bytes", () => {
    const peel = open();
    peel.learn(learned(0, "root"));
    const whole = statement(1, ["bert"], "root");
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Uint8Array.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        peel.take([bytes]);
        expect([names(peel), peel.version]).toEqual([["root"], 0]);
      }),
      { numRuns: 300 },
    );
  });

  test("everything, on a peel that knows no administrators, and on one whose file is damaged", () => {
    const peel = open();
    peel.take([statement(1, ["eve"], "eve"), statement(1, ["bert"], "root")]);
    expect([names(peel), peel.lacking]).toEqual([[], true]);
    writeFileSync(files.administrators, "nonsense\n");
    const damaged = open();
    damaged.take([statement(1, ["eve"], "eve")]);
    damaged.learn(learned(0, "eve"));
    expect([names(damaged), damaged.lacking]).toEqual([[], false]);
  });
});

test("the statement that a peel follows is repeated without a word", () => {
  const peel = open();
  peel.learn(learned(0, "root"));
  peel.take([statement(1, ["bert"], "root")]);
  peel.take([statement(1, ["bert"], "root")]);
  expect(log.records.filter(({ level }) => level === "warn")).toEqual([]);
});

test("a full disk leaves the list that was there, and the next answer repeats the statement", () => {
  const peel = createAdministrators({ ...files, administrators: join(directory.path, "no", "such") }, log);
  peel.take([statement(1, ["bert"], "root")]);
  expect(names(peel)).toEqual([]);
});

test.each([
  [{}, 0, []],
  [{ administrators: "x", administrators_version: "1" }, 0, []],
  [{ administrators: [{ name: "Root!", public_key: "U" }], administrators_version: -1 }, 0, []],
  [{ administrators: [{ name: "root", public_key: keys.root.publicKey }] }, 0, ["root"]],
  [
    { administrators: [{ name: "root", public_key: keys.root.publicKey }], administrators_version: 4 },
    4,
    ["root"],
  ],
])("an answer of a master, %#", (answer, version, listed) => {
  const { administrators: found } = learnedIn(answer, credentialsOf(account));
  expect([found.version, found.list.map(({ name }) => name), found.fleet]).toEqual([
    version,
    listed,
    account.publicKey,
  ]);
});
