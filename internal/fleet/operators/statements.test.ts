import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import type { Change } from "../../bus/storage/mod.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import {
  type AdministratorsStatement,
  administratorsMessage,
  decodeAdministrators,
  encodeAdministrators,
  signAdministrators,
} from "../../wire/administrators-statement.ts";
import { followStatements } from "./statements.ts";

const keyOf = (byte: number): KeyPair => newKeyPair("user", () => new Uint8Array(32).fill(byte));
const keys = { root: keyOf(1), bert: keyOf(2), carl: keyOf(3), eve: keyOf(4) };
type Name = keyof typeof keys;
const fleet = newKeyPair("account", () => new Uint8Array(32).fill(9)).publicKey;
const named = (...names: Name[]) => names.map((name) => ({ name, publicKey: keys[name].publicKey }));
const say = (version: number, names: Name[], by: Name, more: Partial<AdministratorsStatement> = {}) =>
  signAdministrators(
    { fleet, version, administrators: named(...names), issuedAt: 1_700_000_000_000, ...more },
    keys[by],
  );

function follow(file: Name[], ...stored: [key: string, value: Uint8Array][]) {
  const kept = new Map(stored);
  const log = recordingLog();
  const statements = followStatements({
    bucket: {
      create: async (key, value) => {
        if (kept.has(key)) return undefined;
        kept.set(key, value);
        return 1;
      },
      watch(onChange: (change: Change) => void) {
        for (const [key, value] of kept) onChange({ key, value, revision: 1, storedAt: 0 });
        return { ready: Promise.resolve(), caughtUp: async () => {}, stop() {} };
      },
    },
    fleet,
    administrators: () => named(...file),
    log,
  });
  return { statements, log };
}
const at = (version: number, ...rest: [Name[], Name, Partial<AdministratorsStatement>?]) =>
  [`_administrators.${version}`, encodeAdministrators(say(version, ...rest))] as [string, Uint8Array];
const versions = ({ statements }: ReturnType<typeof follow>) => statements.list().map((one) => one.version);

test("a fixed statement has fixed bytes", () => {
  const said = { fleet, version: 1, administrators: named("root"), issuedAt: 1_700_000_000_000 };
  const message = Buffer.from(administratorsMessage(said));
  expect(message.toString("latin1").startsWith("svc/administrators/v1\0\u0085¡v\u0001¥fleetÙ8A")).toBe(true);
  expect(message.toString("latin1")).toContain("ªpublic_keyÙ8U");
  expect(message.toString("latin1").endsWith("©issued_at¸2023-11-14T22:13:20.000Z")).toBe(true);
});

test("those in place are handed out in order; what is not a statement of this fleet is not", () => {
  const found = follow(
    ["root"],
    at(2, ["carl"], "bert"),
    at(1, ["bert"], "root"),
    ["_administrators.3", Buffer.from("x")],
    ["_administrators.4", encodeAdministrators(say(3, ["eve"], "carl"))],
    at(5, ["eve"], "carl", { fleet: newKeyPair("account", systemRandom).publicKey }),
    at(2 ** 31 - 1, ["eve"], "eve"),
  );
  expect(versions(found)).toEqual([1, 2]);
  expect(found.log.records.filter(({ level }) => level === "error")).toHaveLength(3);
  expect(found.statements.after(1)).toEqual([encodeAdministrators(say(2, ["carl"], "bert"))]);
  expect(found.statements.after(2)).toEqual([]);
  expect(found.statements.newest()?.version).toBe(2);
});

test("a peel that is far behind gets the oldest ones first, and those of administrators among any others", () => {
  const lists = Array.from({ length: 40 }, (_, index): Name[] =>
    index % 2 === 0 ? ["bert", "root"] : ["root"],
  );
  const { statements } = follow(["root"], ...lists.map((names, index) => at(index + 1, names, "root")));
  const given = (version: number) =>
    statements.after(version).map((bytes) => decodeAdministrators(bytes).version);
  expect(given(0)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
  expect(given(32)).toEqual([33, 34, 35, 36, 37, 38, 39, 40]);
  expect(given(40)).toEqual([]);

  const planted = Array.from({ length: 100 }, (_, index) => at(index + 1, ["eve"], "eve"));
  const attacked = follow(["root"], ...planted, at(101, ["bert"], "root"));
  const found = attacked.statements.after(0).map((bytes) => decodeAdministrators(bytes));
  expect(found).toHaveLength(17);
  expect(found.at(-1)).toMatchObject({ version: 101, key: keys.root.publicKey });
});

test.each<[what: string, file: Name[], stored: [Name[], Name][], version: number]>([
  ["no statement", ["root"], [], 0],
  ["peels are ahead of the file", ["root"], [[["bert"], "root"]], 0],
  ["the file is that of the newest", ["bert"], [[["bert"], "root"]], 1],
  ["the file is ahead", ["root", "carl"], [[["bert", "root"], "root"]], 0],
  [
    "the file is one behind",
    ["bert"],
    [
      [["bert"], "root"],
      [["carl"], "bert"],
    ],
    1,
  ],
  ["nothing leads to the file", ["carl"], [[["bert"], "root"]], 1],
])("the version of the list in the file: %s", (_, file, stored, version) => {
  const all = stored.map(([names, by], index) => at(index + 1, names, by));
  const { statements } = follow(file, ...all);
  expect(statements.versionOf(named(...file))).toBe(version);
});

test("what someone else signed is not what peels have", () => {
  const { statements } = follow(["root"], at(1, ["bert"], "root"), at(2, ["root"], "eve"));
  expect(statements.newest()?.version).toBe(1);
  expect(statements.list().at(-1)?.version).toBe(2);
});

test("a version is stored once", async () => {
  const { statements } = follow(["root"]);
  await statements.add(say(1, ["bert"], "root"));
  expect(statements.newest()?.version).toBe(1);
  await expect(statements.add(say(1, ["carl"], "root"))).rejects.toThrow("was made meanwhile");
});
