import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";

// Who the masters are, as one of them answers over REST: with compiled masters, of which one is stopped.

setDefaultTimeout(60_000);

/** A file of yesterday, when nothing could be allowed about masters. */
const roles =
  "roles:\n  deployer:\n    jobs:\n      - {functions: [test.*], targets: '*'}\n    reactor: [status]\n";

interface Answer {
  masters: {
    name: string;
    readiness: string;
    reason?: string;
    answers: boolean;
    version: string;
    leases: string[];
    rollouts: number;
  }[];
  leases: { name: string; holder: string }[];
}

let bus: TestBus;
let one: MasterDaemon;
let other: MasterDaemon;
beforeAll(async () => {
  bus = await startBus();
  const file = join(bus.dir, "roles.yaml");
  writeFileAtomic(file, roles, secretMode);
  one = await startMasterBinary(bus, ["--roles-file", file]);
  other = await startMasterBinary(bus, ["--roles-file", file]);
}, 60_000);
afterAll(async () => {
  await other?.[Symbol.asyncDispose]();
  await one?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const request = (path: string, { at = one, token = at.token, method = "GET", body }: Requested = {}) =>
  send(at.url, bus.caPem, {
    ...{ method, path: `/api/v1/${path}` },
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
interface Requested {
  at?: MasterDaemon;
  token?: string;
  method?: string;
  body?: unknown;
}
const masters = async (at: MasterDaemon) => {
  const { status, json } = await request("masters", { at });
  expect(status).toBe(200);
  return json as Answer;
};
/** The name of a master, as it says itself. */
const nameOf = async (at: MasterDaemon) => (await masters(at)).masters.find(({ answers }) => answers)?.name;

test("each master says how it is, which leases it holds, and svc status says the same", async () => {
  const own = await nameOf(one);
  const names = [own ?? "", (await nameOf(other)) ?? ""].sort();
  const answer = await until(async () => {
    const found = await masters(one);
    return found.leases.length === 3 ? found : undefined;
  });
  expect(answer?.masters.map(({ name }) => name)).toEqual(names);
  for (const { name, readiness, answers } of answer?.masters ?? []) {
    expect([name, readiness, answers]).toEqual([name, "up", name === own]);
  }
  expect(answer?.leases.map(({ name }) => name)).toEqual(["facts-secrets", "publisher", "reactor"]);
  expect(answer?.masters.flatMap(({ leases }) => leases).toSorted()).toEqual([
    ...["facts-secrets", "publisher", "reactor"],
  ]);
  const { stdout } = await svc(bus, "status", "--output", "json");
  const shown = JSON.parse(stdout) as Answer;
  expect(shown.masters.map(({ name, readiness }) => [name, readiness])).toEqual(
    answer?.masters.map(({ name, readiness }) => [name, readiness]) ?? [],
  );
  expect(shown.leases.map(({ name, holder }) => [name, holder])).toEqual(
    answer?.leases.map(({ name, holder }) => [name, holder]) ?? [],
  );
});

test("every built-in role reads it, and a role of yesterday's file is refused", async () => {
  const statusFor = async (role: string) => {
    const made = await request("tokens", { method: "POST", body: { name: `of-${role}`, roles: [role] } });
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    return request("masters", { token });
  };
  for (const role of ["admin", "operator", "approver", "viewer", "auditor"]) {
    expect([role, (await statusFor(role)).status]).toEqual([role, 200]);
  }
  const refused = await statusFor("deployer");
  expect(refused.status).toBe(403);
  expect(refused.text).toContain("masters read");
});

test("a master that is frozen is silent, and one that ended is gone", async () => {
  const state = async (name: string) => (await masters(one)).masters.find((found) => found.name === name);
  const name = (await nameOf(other)) ?? "";
  other.program.kill("SIGSTOP");
  const silent = await state(name);
  expect(silent).toMatchObject({ readiness: "silent" });
  expect(silent?.reason).toContain("it does not answer for itself");
  other.program.kill("SIGCONT");
  await until(async () => ((await state(name))?.readiness === "up" ? true : undefined));
  await other[Symbol.asyncDispose]();
  await until(async () => ((await state(name)) === undefined ? true : undefined));
});
