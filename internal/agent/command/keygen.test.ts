import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRandom } from "../../base/id.ts";
import { keyPairFromSeed } from "../../identity/nkey.ts";
import { identityFiles, loadOrCreateKey, resolvePeelId } from "../identity/identity.ts";
import { makeKey } from "./keygen.ts";

const root = mkdtempSync(join(tmpdir(), "svc-keygen-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(root, "data-"));
});
const named = { configured: "", hostname: "web-1.example.com", random: systemRandom };
const authDir = () => join(dataDir, "auth");

/** What the daemon takes as its own. */
function daemonKey(configured: string, hostname: string) {
  const peelId = resolvePeelId({ configured, hostname, authDir: authDir() });
  return {
    peelId,
    publicKey: loadOrCreateKey(identityFiles(authDir(), peelId).seed, systemRandom).publicKey,
  };
}

test("the daemon has the key that was made, also after the host was renamed", () => {
  const { peelId, publicKey, fingerprint, file } = makeKey({ ...named, dataDir });
  expect(peelId).toBe("web-1_example_com");
  expect(fingerprint).toMatch(/^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/);
  expect(keyPairFromSeed("user", readFileSync(file, "utf8")).publicKey).toBe(publicKey);
  expect([statSync(file).mode & 0o777, statSync(authDir()).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(daemonKey("", "other.example.com")).toEqual({ peelId, publicKey });
});

test("a configured id, and one that is asked for, are those of the daemon", () => {
  const configured = makeKey({ ...named, dataDir, configured: "db-1.example.com" });
  expect(daemonKey("db-1.example.com", "x")).toMatchObject({ publicKey: configured.publicKey });
  dataDir = mkdtempSync(join(root, "data-"));
  const requested = makeKey({ ...named, dataDir, id: "db-2.example.com" });
  expect(daemonKey("", "x")).toEqual({ peelId: "db-2_example_com", publicKey: requested.publicKey });
});

test("a key that is there is not overwritten, and the message has its public half only", () => {
  const { publicKey, file } = makeKey({ ...named, dataDir });
  const seed = readFileSync(file, "utf8");
  let message = "";
  try {
    makeKey({ ...named, dataDir });
  } catch (thrown) {
    message = String(thrown);
  }
  expect(message).toContain(`${file} exists, and is not overwritten (its public key is ${publicKey})`);
  expect(message).not.toContain(seed.trim());
  expect(readFileSync(file, "utf8")).toBe(seed);
});

test("a peel that has credentials keeps its identity", () => {
  makeKey({ ...named, dataDir });
  const files = identityFiles(authDir(), "web-1_example_com");
  rmSync(files.seed);
  writeFileSync(files.credentials, "");
  expect(() => makeKey({ ...named, dataDir })).toThrow("is not overwritten");
  expect(existsSync(files.seed)).toBe(false);
});

test.each([
  [{ hostname: "localhost" }, "the host name is localhost"],
  [{ configured: "web_1" }, 'may not contain "_"'],
  [{ configured: "web-1", id: "web-2" }, "--id: the configuration of this peel has the id web-1"],
])("%j is refused, and nothing is written", (wrong, message) => {
  expect(() => makeKey({ ...named, ...wrong, dataDir })).toThrow(message);
  expect(readdirSync(dataDir)).toEqual([]);
});

test("an id that is pinned already is kept", () => {
  makeKey({ ...named, dataDir });
  rmSync(identityFiles(authDir(), "web-1_example_com").seed);
  expect(() => makeKey({ ...named, dataDir, id: "web-2" })).toThrow(
    "has the id web-1.example.com: leave out --id",
  );
});
