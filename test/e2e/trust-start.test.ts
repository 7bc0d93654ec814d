import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, publicMode, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { type Impostor, startImpostor, type TestAuthority, testAuthority } from "../harness/impostor.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// How trust decides whether the peel starts or stops.

const files = temporaryDirectory("trust-start");
let fleet: TestAuthority;
let other: TestAuthority;
let honest: Impostor;
let liar: Impostor;
let made = 0;

beforeAll(async () => {
  [fleet, other] = await Promise.all([testAuthority("Fleet"), testAuthority("Other")]);
  const answer = (bundle: string) => (_: Request, url: URL) =>
    url.pathname === "/api/v1/enroll/ca"
      ? Response.json({ v: 1, ca_bundle_pem: bundle, nats_urls: [] })
      : Response.json({ error: "enrollment is closed in this test" }, { status: 403 });
  honest = startImpostor({ tls: await fleet.issue(), answer: answer(fleet.rootPem) });
  liar = startImpostor({ tls: await other.issue(), answer: answer(fleet.rootPem + other.rootPem) });
});
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await liar[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

interface Given {
  dir?: string;
  /** Files in the auth directory. */
  auth?: Record<string, string>;
  flags?: readonly string[];
}

function dataDirectory(auth: Record<string, string> = {}): string {
  const dir = join(files.path, `peel-${++made}`);
  makeDirectory(join(dir, "auth"), 0o700);
  for (const [name, text] of Object.entries(auth)) writeFileAtomic(join(dir, "auth", name), text, secretMode);
  return dir;
}

function startPeel(master: Impostor, { dir = dataDirectory(), flags = [] }: Given): Program {
  master.requests.length = 0;
  writeFileAtomic(join(dir, "peel.yaml"), "{}\n", secretMode);
  const main = join(import.meta.dir, "../../cmd/svc-peel/main.ts");
  const own = ["--config", join(dir, "peel.yaml"), "--id", "peel-1", "--health-addr", "127.0.0.1:0"];
  return startProgram([process.execPath, main, ...own, "--master-url", master.url, ...flags], {
    env: { SVC_DATA_DIR: dir },
  });
}

/** The one line that a peel leaves when it stops at once. */
async function lastWords(master: Impostor, given: Given): Promise<string> {
  await using peel = startPeel(master, given);
  expect(await peel.exited).toBe(1);
  const lines = peel
    .output()
    .split("\n")
    .filter((line) => line.startsWith("svc-peel: "));
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

const enrolling = () => liar.requests.filter((request) => !request.endsWith("/enroll/ca"));

test("an anchor that does not match: the line names the file to delete", async () => {
  const dir = dataDirectory({ "enroll-ca.crt": fleet.rootPem });
  const line = await lastWords(liar, { dir });
  expect(line).toContain("is not trusted by the stored root (");
  expect(line).toContain(`delete ${join(dir, "auth/enroll-ca.crt")}`);
  expect(readFileSync(join(dir, "auth/enroll-ca.crt"), "utf8")).toBe(fleet.rootPem);
  expect([enrolling(), existsSync(join(dir, "auth/peel-1.creds"))]).toEqual([[], false]);
});

test("enroll_ca and enroll_ca_pin that do not match", async () => {
  const ca = join(files.path, "fleet.crt");
  writeFileAtomic(ca, fleet.rootPem, publicMode);
  expect(await lastWords(liar, { flags: ["--enroll-ca", ca] })).toContain("is not trusted by enroll_ca (");
  expect(await lastWords(liar, { flags: ["--enroll-ca-pin", fleet.pin] })).toContain(
    "is not trusted by enroll_ca_pin: ",
  );
  expect(enrolling()).toEqual([]);
});

test("an unknown authority with enroll_trust strict, or with credentials", async () => {
  expect(await lastWords(honest, { flags: ["--enroll-trust", "strict"] })).toContain(
    "is not trusted by the trust store of this host: ",
  );
  const dir = dataDirectory({ "peel-1.creds": "credentials" });
  expect(await lastWords(honest, { dir })).toContain("is not trusted by the trust store of this host: ");
  expect(existsSync(join(dir, "auth/enroll-ca.crt"))).toBe(false);
});

test("first use keeps the root that verified; from then on nobody else will do", async () => {
  const dir = dataDirectory();
  const anchor = join(dir, "auth/enroll-ca.crt");
  expect(await lastWords(liar, { dir })).toContain("enrollment is closed");
  expect(readFileSync(anchor, "utf8").trim()).toBe(other.rootPem.trim());
  expect((statSync(anchor).mode & 0o777).toString(8)).toBe("644");

  expect(await lastWords(honest, { dir })).toContain("is not trusted by the stored root (");
  expect(honest.requests).toEqual([]);
});

test("a strict rung and a master that is away: the peel waits, and does not exit", async () => {
  const dir = dataDirectory({ "enroll-ca.crt": fleet.rootPem });
  await using peel = startPeel(honest, { dir, flags: ["--master-urls", "https://localhost:1"] });
  await peel.waitFor(/"msg":"master did not answer".*\n.*"msg":"master did not answer"/);
});
