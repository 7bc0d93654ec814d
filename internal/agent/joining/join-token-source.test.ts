import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { readJoinToken } from "./join-token-source.ts";

const files = temporaryDirectory("join-token-source");
afterAll(() => files[Symbol.dispose]());
const file = join(files.path, "token");
writeFileSync(file, "from the file\n");
const credentials = join(files.path, "credentials");
mkdirSync(credentials);
writeFileSync(join(credentials, "join-token"), "from systemd");
const env = { SVC_JOIN_TOKEN: "from the environment", CREDENTIALS_DIRECTORY: credentials };

test("what is named counts before the environment, and that before the credential", () => {
  expect(readJoinToken({ word: "word", env })).toMatchObject({ text: "word", isVisible: true });
  expect(readJoinToken({ file, env })).toEqual({ source: file, text: "from the file\n" });
  expect(readJoinToken({ env })).toEqual({ source: "SVC_JOIN_TOKEN", text: "from the environment" });
  for (const variable of [undefined, ""]) {
    expect(readJoinToken({ env: { ...env, SVC_JOIN_TOKEN: variable } })?.text).toBe("from systemd");
  }
  expect(readJoinToken({ env: { CREDENTIALS_DIRECTORY: files.path } })).toBeUndefined();
  expect(readJoinToken({ env: {} })).toBeUndefined();
});

test("what cannot be a token is refused", () => {
  expect(() => readJoinToken({ word: "a", file, env })).toThrow("give the token or --token-file, not both");
  expect(() => readJoinToken({ file: join(files.path, "none"), env })).toThrow("no such file");
  expect(() => readJoinToken({ file: files.path, env })).toThrow("cannot read the join token");
  const long = join(files.path, "long");
  writeFileSync(long, "a".repeat(20_000));
  expect(() => readJoinToken({ file: long, env })).toThrow("too long for a join token");
});
