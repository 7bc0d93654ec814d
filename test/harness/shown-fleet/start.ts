import { join } from "node:path";
import { type Clock, systemClock } from "../../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../../internal/base/files/file.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { encodePeelId } from "../../../internal/base/names/peel-id.ts";
import { eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { encodePeelEvent } from "../../../internal/wire/peel-event.ts";
import { openBrowser } from "../browser.ts";
import { startBus, type TestBus } from "../bus.ts";
import { freshAddress, type Reply, send } from "../client.ts";
import { type ConsoleView, viewOf } from "../console-view.ts";
import { attestation, newEnrollee, submission, submit, takeNonce } from "../enrollee.ts";
import { type MasterDaemon, startMasterBinary } from "../fleet.ts";
import { connectManualPeel, type ManualPeel } from "../manual-peel.ts";
import { newOperator } from "../operators.ts";
import { enrollPeel } from "../peel-connection.ts";
import { listAdministrators } from "../registered.ts";
import { runRecord } from "../run-record.ts";
import { until } from "../until.ts";
import { type Visitor, visitorOf } from "../visitor.ts";
import { answerJobs } from "./answers.ts";
import { shownHosts, shownPending } from "./hosts.ts";
import { reportFacts, reportRun } from "./runs.ts";
import { storeSamples } from "./samples.ts";
import { rules, settings, settingsTop, states, storeApprovals, storeOperators } from "./written.ts";

/** A fleet whose every page has something to show, with made-up names: a compiled master, and a browser. */
export interface ShownFleet extends ConsoleView, Visitor, AsyncDisposable {
  readonly url: string;
  rest(method: string, path: string, body?: unknown): Promise<Reply>;
  /** The token of the operator who is signed in. */
  readonly operator: string;
  /** A token of somebody who only looks. */
  readonly viewer: string;
  stopMaster(): Promise<void>;
  /** Ids by what they are: `job-mixed`, `job-running`, `rollout`, `approval`, `enrollment`. */
  readonly ids: Readonly<Record<string, string>>;
}

const beatMs = 8_000;
/** What the browser calls the master. */
const shownName = "svc.example.com";

/**
 * @param within a command that runs the one that follows it, such as one that gives it another host name
 * @param more flags of the master
 */
export async function startShownFleet(
  within: readonly string[] = [],
  more: readonly string[] = [],
): Promise<ShownFleet> {
  await using starting = new AsyncDisposableStack();
  const clock: Clock = systemClock;
  const bus = starting.use(await startBus());
  const root = newOperator("root");
  listAdministrators(bus.authDir, root);
  const named = ["--enroll-advertise-urls", `https://${shownName}`];
  const flags = ["--reactor-storm-rate", "3", ...named, ...writeTrees(bus), ...more];
  const master = starting.use(await startMasterBinary(bus, flags, {}, within));
  const request = (token: string, method: string, path: string, body?: unknown) =>
    send(master.url, bus.caPem, {
      ...{ method, path: `/api/v1/${path}`, from: freshAddress() },
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const restOf = (token: string) => async (method: string, path: string, body?: unknown) => {
    const reply = await request(token, method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply;
  };
  const rest = restOf(master.token);
  const tokenOf = async (name: string, roles: string[]) => {
    const { token } = (await rest("POST", "tokens", { name, roles, expires: "30d" })).json as {
      token: string;
    };
    runRecord.register("token", token);
    return token;
  };
  const ann = await tokenOf("ann", ["admin"]);
  const viewer = await tokenOf("grafana", ["viewer"]);
  await tokenOf("nightly-deploy", ["operator"]);
  await storeOperators(bus, root);

  const peels = await connectPeels({ bus, master, rest, clock });
  for (const peel of peels.values()) starting.use(peel);
  const beating = clock.every(beatMs, () => {
    for (const peel of peels.values()) peel.beat().catch(() => {});
  });
  starting.defer(() => beating.cancel());

  const page = starting.use(await openBrowser({ url: master.url, ca: bus.caPem, as: shownName }));
  const url = `https://${shownName}`;
  const visitor = visitorOf(page, url);
  const ids = await fill({ bus, master, rest, request: restOf(ann), peels, clock });
  await page.show({ width: 1280 });
  await visitor.signIn(ann);
  const owned = starting.move();
  const stopMaster = async () => master[Symbol.asyncDispose]();
  return {
    ...visitor,
    ...viewOf(visitor),
    page,
    url,
    rest,
    operator: ann,
    viewer,
    ids,
    stopMaster,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Request = (method: string, path: string, body?: unknown) => Promise<Reply>;
interface Parts {
  bus: TestBus;
  master: MasterDaemon;
  rest: Request;
  clock: Clock;
}

/** Enrolls the hosts, with their labels, facts and last state runs. */
async function connectPeels({ bus, master, rest, clock }: Parts): Promise<Map<string, ManualPeel>> {
  const door = { url: master.url, ca: bus.caPem, token: master.token };
  const peels = new Map<string, ManualPeel>();
  await Promise.all(
    shownHosts.map(async (host, index) => {
      const enrolled = await enrollPeel(door, encodePeelId(host.id));
      await rest("PUT", `enrollments/${enrolled.enrollmentId}/labels`, { labels: host.labels });
      const peel = await connectManualPeel(bus, enrolled);
      peels.set(host.id, peel);
      await peel.beat();
      await reportFacts(peel, host);
      await reportRun(peel, host, index, clock.now());
      // It ends with the connection.
      answerJobs(peel, () => clock.now()).catch(() => {});
    }),
  );
  await until(async () =>
    ((await rest("GET", "peels")).json as { alive: boolean }[]).every(({ alive }) => alive),
  );
  for (const host of shownHosts.filter(({ silent }) => silent)) {
    const peel = peels.get(host.id);
    const { nats } = peel?.connection ?? {};
    const subject = `$KV.peel-heartbeat.${peel?.peelId}`;
    const stored = await nats?.request(subject, encode({ peel_id: peel?.peelId ?? "" }), { timeout: 30_000 });
    const { seq } = stored?.json<{ seq: number }>() ?? { seq: 0 };
    await nats?.request(subject, encode({ leaving_after: seq }), { timeout: 30_000 });
    await peel?.[Symbol.asyncDispose]();
    peels.delete(host.id);
  }
  return peels;
}

/** What operators and hosts did before somebody looks. */
async function fill(parts: Parts & { request: Request; peels: ReadonlyMap<string, ManualPeel> }) {
  const { bus, master, rest, request, peels, clock } = parts;
  const door = { url: master.url, ca: bus.caPem };
  const { fingerprint } = (await rest("GET", "enroll/ca")).json as { fingerprint: string };
  for (const [index, hostname] of shownPending.entries()) {
    const peel = newEnrollee(encodePeelId(hostname));
    const nonce = await takeNonce(door, peel);
    const isStrange = index === shownPending.length - 1;
    const pin = isStrange ? `sha256:${"5c".repeat(32)}` : fingerprint;
    const body = submission(peel, nonce, { hostname, ...attestation(peel, nonce, pin) });
    const { status, text } = await submit(door, body);
    if (status !== 201) throw new Error(`enroll: ${status} ${text}`);
  }
  const hour = { timeout: "1h" };
  const run = async (target: string, name: string, args = {}, more = {}) => {
    const reply = await request("POST", "jobs", { target, function: name, args, ...more });
    return (reply.json as { jid: string }).jid;
  };
  const ended = (jid: string) =>
    until(async () => ((await rest("GET", `jobs/${jid}`)).json as { status: string }).status !== "running");
  await ended(await run("T@env:prod and not mail-* and not edge-2*", "test.ping"));
  await ended(await run("db-*", "test.echo", { text: "ready" }));
  await ended(await run("web-*", "state.apply"));
  // The hosts that do not answer within it are offline, or too slow.
  const command = { command: "nginx -t && systemctl reload nginx" };
  const mixed = await run("* and not T@tier:ci", "cmd.run", command, { timeout: "2s" });
  const cancelled = await run("api-*", "pkg.upgrade", {}, hour);
  await until(async () => (await rest("GET", `jobs/${cancelled}`)).text.includes('"ok"'));
  await rest("POST", `jobs/${cancelled}/cancel`, {});
  await ended(cancelled);
  await ended(mixed);
  const running = await run("db-* or cache-*", "pkg.upgrade", {}, hour);
  const rollout = { function: "pkg.install", args: { names: ["nginx"] }, ...hour };
  const started = await request("POST", "rollouts", {
    ...rollout,
    ...{ target: "web-* or api-*", canary: 1, waves: ["20%", "40%"], max_failures: 3 },
    check: { function: "test.ping" },
  });
  const paused = await request("POST", "rollouts", {
    ...{ function: "test.ping", target: "T@tier:data", canary: 1, waves: 3, wave_wait: "10m" },
  });
  await request("POST", `rollouts/${(paused.json as { id: string }).id}/pause`, {});
  const report = async (id: string, tag: string, data: Record<string, string | number>) => {
    const peel = peels.get(id);
    const subject = eventSubject(peel?.peelId ?? "", tag.split("/").join("."));
    await peel?.connection.nats.request(subject, encodePeelEvent({ data }), { timeout: 30_000 });
  };
  for (let count = 0; count < 5; count++)
    await report(`web-${count + 1}.example.com`, "disk/full", { mount: "/var", percent: 91 + count });
  await report("db-1.example.com", "postgres/replication/lag", { seconds: 48, standby: "db-2" });
  await report("edge-1.example.com", "certificate/ends", { name: "edge.example.com", days: 9 });
  await until(async () => (await rest("GET", "reactor/rules")).text.includes("breaker_open_until"));
  await storeSamples(bus, clock.now());
  const listed = (await rest("GET", "peels")).json as { id: string; enrollment_id: string }[];
  const silent = listed.find(({ id }) => id === "mail-1.example.com");
  const approval = await storeApprovals(bus, clock.now(), silent?.enrollment_id ?? "");
  const [pending] = (await rest("GET", "enrollments")).json as { id: string; peel: string }[];
  return {
    "job-mixed": mixed,
    "job-running": running,
    rollout: (started.json as { id: string }).id,
    approval,
    enrollment: pending?.id ?? "",
  };
}

/** The trees of a master. @returns its flags */
function writeTrees({ dir }: TestBus): string[] {
  const trees = {
    states,
    settings: { "top.sls": settingsTop, "all.sls": settings },
    reactor: { "rules.yaml": rules },
  };
  return Object.entries(trees).flatMap(([name, files]) => {
    const path = join(dir, name);
    makeDirectory(path, 0o700);
    for (const [file, text] of Object.entries(files)) writeFileAtomic(join(path, file), text, secretMode);
    return [`--${name}-dir`, path];
  });
}
