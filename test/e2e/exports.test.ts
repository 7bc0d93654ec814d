import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Answers, type ApiText, answersOf } from "../harness/api-text.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { connectPeel, enrollPeel } from "../harness/peel-connection.ts";
import { storePeels } from "../harness/stored-peels.ts";
import { until } from "../harness/until.ts";

// The fleet in the forms of other tools, through the compiled binaries. `make exports` runs the tools themselves.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: MasterDaemon;
let answers: Answers;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus, ["--api-docs"]);
  await storePeels(bus, {
    "db-1": { facts: { os: "Debian", osrelease: "=12", note: "{{ 1 + 1 }}" } },
    "web-1_example": {
      ...{ address: "2001:db8::7", labels: { env: "prod", "rack.row": "a,b" } },
      facts: { os: "Debian", osrelease: "11", roles: ["web", "cache"] },
    },
  });
  answers = answersOf((await rest("openapi.json")).json as ApiText);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const rest = (path: string, token = master.token) =>
  call(
    { url: master.url, ca: bus.caPem },
    { path: `/api/v1/${path}`, headers: { authorization: `Bearer ${token}` } },
  );

test("peels are targets of Prometheus, in the documented form", async () => {
  const requested = async (query: string, status: number) => {
    const reply = await rest(`prometheus/targets?${query}`);
    expect([reply.status, answers.faults("listPrometheusTargets", reply)]).toEqual([status, []]);
    return reply;
  };
  const all = await requested("fact=os&fact=roles&port=9256", 200);
  expect(all.headers["content-type"]).toBe("application/json");
  expect(all.json).toEqual([
    { targets: ["db-1:9256"], labels: { __meta_svc_peel: "db-1", __meta_svc_fact_os: "Debian" } },
    {
      targets: ["[2001:db8::7]:9256"],
      labels: {
        ...{ __meta_svc_peel: "web-1.example", __meta_svc_fact_os: "Debian" },
        __meta_svc_fact_roles: ",web,cache,",
        ...{ __meta_svc_label_env: "prod", __meta_svc_label_rack_row: "a,b" },
      },
    },
  ]);
  expect((await requested("target=nothing*", 200)).json).toEqual([]);
  expect((await requested("target=T%40env:prod", 200)).json).toMatchObject([
    { targets: ["[2001:db8::7]:9100"] },
  ]);
  expect((await requested("target=web+and", 400)).json).toEqual({ error: expect.stringContaining("column") });
  await requested("port=0", 400);
  await requested("facts=os", 400);
  expect((await rest("prometheus/targets", "wrong")).status).toBe(401);
});

test("svc writes an inventory, as Ansible asks its scripts for it", async () => {
  const list = ["peels", "list", "--output", "ansible"];
  const whole = await svc(bus, ...list, "--facts", "os,note", "--list");
  expect([whole.code, whole.stderr]).toEqual([0, ""]);
  const inventory = JSON.parse(whole.stdout);
  expect(inventory).toMatchObject({
    all: { hosts: ["db-1", "web-1.example"] },
    fact_os_Debian: { hosts: ["db-1", "web-1.example"] },
    label_env_prod: { hosts: ["web-1.example"] },
    label_rack_row_a_b: { hosts: ["web-1.example"] },
  });
  const host = await svc(bus, ...list, "--facts", "os,note", "--host", "db-1");
  expect(JSON.parse(host.stdout)).toEqual(inventory._meta.hostvars["db-1"]);
  expect(inventory._meta.hostvars["db-1"].svc_facts.note).toEqual({ __ansible_unsafe: "{{ 1 + 1 }}" });
});

test("svc writes peels as CSV, and any other list too", async () => {
  const { stdout } = await svc(bus, "peels", "list", "--output", "csv", "--columns", "id,address,os,labels");
  expect(stdout).toBe(
    "id,address,os,labels\n" +
      "db-1,,Debian =12,\n" +
      'web-1.example,2001:db8::7,Debian 11,"env=prod rack.row=a,b"\n',
  );
  const all = await svc(bus, "peels", "list", "web*", "--output", "csv");
  expect(all.stdout).toContain("id,peel_id,enrollment_id,state,alive,alive_since,silent_since,");
  const enrollments = await svc(bus, "enroll", "list", "--state", "all", "--output", "csv");
  expect(enrollments.stdout.split("\n")).toHaveLength(4);
});

test.each([
  [["--facts", "os"], "--facts requires --output ansible"],
  [["--host", "db-1"], "--host requires --output ansible"],
  [["--output", "ansible", "--columns", "id"], "--columns is not for --output ansible"],
  [["--output", "ansible", "--list", "--host", "db-1"], "--list and --host exclude each other"],
  [["--output", "ansibel"], "(did you mean ansible?)"],
])("svc peels list %p is a mistake on the command line", async (words, message) => {
  const ran = await svc(bus, "peels", "list", ...words);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, "", expect.stringContaining(message)]);
});

test("a host that the inventory does not have is named, with the nearest one", async () => {
  const ran = await svc(bus, "peels", "list", "--output", "ansible", "--host", "db-2");
  expect([ran.code, ran.stdout]).toEqual([1, ""]);
  expect(ran.stderr).toContain('the inventory has no host "db-2" (did you mean db-1?)');
});

test("a peel is found at the address from which it connects to the bus, and not from which it asked to join", async () => {
  const door = { url: master.url, ca: bus.caPem, token: master.token };
  const peel = await enrollPeel(door, "moved");
  const addressOf = async () => {
    const { json } = await rest("prometheus/targets?target=moved");
    return (json as { targets: string[] }[]).flatMap(({ targets }) => targets);
  };
  // It asked from an address of its own.
  expect(await addressOf()).toEqual([expect.stringMatching(/^127\.(?!0\.0\.1:)[\d.]+:9100$/)]);
  await using _ = await connectPeel(bus, peel);
  await until(addressOf, ([target]) => target === "127.0.0.1:9100");
  const shown = await svc(bus, "peels", "show", "moved", "--output", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ id: "moved", address: "127.0.0.1" });
});
