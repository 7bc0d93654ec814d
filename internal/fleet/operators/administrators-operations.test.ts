import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import type { Change } from "../../bus/storage/mod.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import {
  type AdministratorsStatement,
  encodeAdministrators,
  signAdministrators,
} from "../../wire/administrators-statement.ts";
import { replaceAdministrators, showAdministrators } from "./administrators-operations.ts";
import { followStatements } from "./statements.ts";

const newKey = () => newKeyPair("user", systemRandom);
const keys: Record<string, KeyPair> = { root: newKey(), bert: newKey(), old: newKey() };
const fleet = newKeyPair("account", systemRandom).publicKey;
const named = (...names: string[]) => names.map((name) => ({ name, publicKey: keys[name]?.publicKey ?? "" }));
const shown = (...names: string[]) =>
  named(...names).map(({ name, publicKey }) => ({ name, public_key: publicKey }));

function setUp({ file = ["root"], succeeds = false } = {}) {
  const log = recordingLog();
  const kept = new Set<string>();
  const bucket = {
    async create(key: string) {
      if (kept.has(key)) return undefined;
      kept.add(key);
      return 1;
    },
    watch: (_: (change: Change) => void) => ({
      ready: Promise.resolve(),
      caughtUp: async () => {},
      stop() {},
    }),
  };
  const administrators = () => named(...file);
  const statements = followStatements({ bucket, fleet, administrators, log });
  const reported: number[] = [];
  const deps = { fleet, administrators, statements, succeeds, notifyPeels: () => reported.push(1) };
  const caller = { kind: "operator", name: "root", door: "bus" } as const;
  const call = { caller, log, clock: systemClock };
  const replace = (
    by: string,
    names: string[],
    more: Partial<AdministratorsStatement> = {},
    change = (bytes: Uint8Array) => bytes,
  ) => {
    const statement = { fleet, version: 1, administrators: named(...names), issuedAt: 5, ...more };
    const signed = signAdministrators(statement, keys[by] as KeyPair);
    const text = Buffer.from(change(encodeAdministrators(signed))).toString("base64");
    return replaceAdministrators.run(deps, { statement: text }, call);
  };
  return { replace, reported, show: () => showAdministrators.run(deps, {}, call) };
}

test("the next statement of an administrator is stored, and the peels are notified", async () => {
  const { replace, show, reported } = setUp();
  expect(await show()).toMatchObject({ version: 0, next_version: 1, peels: shown("root"), differ: false });
  expect(await replace("root", ["bert"])).toMatchObject({
    ...{ version: 1, next_version: 2, differ: true, signed_by: keys.root?.publicKey },
    ...{ masters: shown("root"), peels: shown("bert") },
  });
  expect(reported).toEqual([1]);
  // The file of the masters does not count for peels any more.
  expect(replace("root", ["root"], { version: 2 })).rejects.toThrow("bert can sign this statement");
  expect(await replace("bert", ["root"], { version: 2 })).toMatchObject({ version: 2, differ: false });
});

test.each<
  [what: string, run: (fleet: ReturnType<typeof setUp>) => Promise<unknown>, kind: string, says: string]
>([
  [
    "of someone else",
    ({ replace }) => replace("bert", ["bert"]),
    "forbidden",
    "root can sign this statement",
  ],
  [
    "of another fleet",
    ({ replace }) => replace("root", ["bert"], { fleet: newKeyPair("account", systemRandom).publicKey }),
    "forbidden",
    `and this is the fleet ${fleet}`,
  ],
  [
    "that skips a version",
    ({ replace }) => replace("root", ["bert"], { version: 2 }),
    "conflict",
    "is 1, and",
  ],
  ["that changes nothing", ({ replace }) => replace("root", ["root"]), "conflict", "already"],
  [
    "without administrators",
    ({ replace }) => replace("root", []),
    "bad_request",
    "must name an administrator",
  ],
  [
    "with a wrong signature",
    ({ replace }) =>
      replace("root", ["bert"], {}, (bytes) => bytes.with(bytes.length - 9, (bytes.at(-9) ?? 0) ^ 1)),
    "forbidden",
    "the signature of the statement",
  ],
  [
    "that is something else",
    ({ replace }) => replace("root", ["bert"], {}, () => Buffer.from("x")),
    "bad_request",
    "malformed",
  ],
])("a statement is refused %s", async (_, run, kind, says) => {
  const fleet = setUp();
  await expect(run(fleet)).rejects.toMatchObject({ kind, message: expect.stringContaining(says) });
  expect([fleet.reported, await fleet.show()]).toMatchObject([[], { version: 0 }]);
});

test("after a succession an administrator of the fleet before signs the first one", async () => {
  const { replace, show } = setUp({ succeeds: true });
  expect(await show()).toMatchObject({ peels: [], differ: true });
  expect(await replace("old", ["root"])).toMatchObject({ version: 1, peels: shown("root"), differ: false });
  expect(replace("old", ["old"], { version: 2 })).rejects.toThrow("root can sign this statement");
});
