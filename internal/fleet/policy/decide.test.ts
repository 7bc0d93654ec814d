import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testAuthority } from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { createWebhookAddresses } from "../../base/webhook/addresses.ts";
import type { Candidate } from "../enrollment/joining/way-in.ts";
import type { Enrollment } from "../enrollment/record/mod.ts";
import { createPolicyEngine } from "./decide.ts";
import { readPolicy } from "./read-policy.ts";
import { createPolicyWay } from "./way-in.ts";

// Real programs and a real HTTPS server decide, and fail in every way.

const dir = temporaryDirectory("policy");
afterAll(() => dir[Symbol.dispose]());
const at = (name: string) => join(dir.path, name);

const record: Enrollment = {
  ...{ id: "enr-1", peelId: "web-1_example_com", publicKey: "U", curvePublicKey: "X", state: "pending" },
  ...{ createdAt: 1_000, updatedAt: 1_000, address: "192.0.2.7", trustedCaSpki: "sha256:00" },
  ...{ trustMismatch: false, metadata: { labels: { env: "prod" } } },
};

let log: ReturnType<typeof recordingLog>;
let counted: string[];
beforeEach(() => {
  log = recordingLog();
  counted = [];
});

/** How a master judges a host by the rules of this text. */
function wayOf(rules: string, allow: readonly string[] = [], signal = new AbortController().signal) {
  const policy = readPolicy(rules, "p.yaml");
  const engine = createPolicyEngine({
    ...{ policy: () => policy, clock: systemClock, signal },
    webhook: {
      ...{ fetch, lookup: async () => ["127.0.0.1"] },
      addresses: createWebhookAddresses(allow),
    },
  });
  const metrics = {
    policyDecided: (rule: string, decide: string) => void counted.push(`${rule} ${decide}`),
    policyFailed: (rule: string, failure: string) => void counted.push(`${rule} ${failure}`),
  };
  const way = createPolicyWay({ engine, metrics, log });
  const judge = (more: Partial<Enrollment> = {}) =>
    way.judge({ record: { ...record, ...more } } as unknown as Candidate);
  return { engine, judge };
}

function script(name: string, text: string): string {
  writeFileSync(at(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return at(name);
}

const program = (text: string, more = "") =>
  `rules: [{name: ask, labels: {env: lab}, program: {argv: [${script("ask", text)}]${more}}}]`;

const held = { decide: "hold", by: "policy:ask" };
const whyHeld = () => {
  const found = log.records.find(({ event }) => event === "enrollment policy failed; the host is held");
  return String(found?.fields.reason);
};

describe("a program", () => {
  test("gets the record as JSON, a clean environment, and decides", async () => {
    const text = `cat > ${at("input")}; env > ${at("env")}; echo '{"decide": "approve", "labels": {"rack": "7"}}'`;
    expect(await wayOf(program(text)).judge()).toEqual({
      ...{ decide: "approve", by: "policy:ask", labels: { env: "lab", rack: "7" } },
    });
    expect(JSON.parse(readFileSync(at("input"), "utf8"))).toMatchObject({
      ...{ id: "enr-1", peel_id: "web-1_example_com", address: "192.0.2.7", state: "pending" },
    });
    const names = readFileSync(at("env"), "utf8")
      .split("\n")
      .map((line) => line.split("=")[0]);
    expect(
      names.filter(
        (name) => !["", "PATH", "LANG", "HOME", "PWD", "OLDPWD", "SHLVL", "_"].includes(name ?? ""),
      ),
    ).toEqual([]);
    expect(counted).toEqual(["ask approve"]);
  });

  test("may refuse a host with a reason, and replace a label of the rule", async () => {
    const answer = `{"decide": "reject", "reason": "sold", "labels": {"env": "none"}}`;
    expect(await wayOf(program(`echo '${answer}'`)).judge()).toEqual({
      ...{ decide: "reject", by: "policy:ask", reason: "sold", labels: { env: "none" } },
    });
  });

  test.each<[string, string, string, string]>([
    ["hangs", "sleep 60", "ask timeout", "it did not end within 200 ms"],
    ["exits 1", "echo 'no route to host' >&2; exit 1", "ask failed", 'it ended with 1: "no route to host"'],
    ["kills itself", "kill -9 $$", "ask failed", "it ended with 137"],
    ["prints a megabyte", "head -c 1048576 /dev/zero", "ask nonsense", "it printed more than 65536 bytes"],
    [
      "prints a megabyte around an answer",
      `echo '{"decide": "approve"}'; yes | head -c 1048576`,
      "ask nonsense",
      "it printed more than 65536 bytes",
    ],
    ["says nothing", ":", "ask nonsense", "its answer is nonsense: not valid JSON"],
    ["lies in its form", `echo '{"decide": "yes"}'`, "ask nonsense", "decide: must be approve, reject, hold"],
    [
      "says it twice",
      `echo '{"decide": "hold", "decide": "approve"}'`,
      "ask nonsense",
      "ambiguous: a key appears twice",
    ],
    [
      "says more than it may",
      `echo '{"decide": "approve", "state": "active"}'`,
      "ask nonsense",
      "it has an unknown key",
    ],
    ["answers with a list", "echo '[]'", "ask nonsense", "decide: is missing"],
    [
      "gives labels that no record has",
      `echo '{"decide": "approve", "labels": {"Env": "x"}}'`,
      "ask nonsense",
      "labels: must be named by",
    ],
    [
      "gives a reason with control characters",
      `printf '{"decide": "hold", "reason": "a\\\\u001b[2J"}'`,
      "ask nonsense",
      "reason: must have no control characters",
    ],
  ])("that %s holds the host", async (_, text, count, reason) => {
    // On a busy machine no other program may end by its time limit.
    const limit = count === "ask timeout" ? ", timeout: 200ms" : ", timeout: 8s";
    expect(await wayOf(program(text, limit)).judge()).toMatchObject(held);
    expect(counted).toEqual([count, "ask hold"]);
    expect(whyHeld()).toContain(reason);
  });

  test("that adds too many labels holds the host", async () => {
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`l${i}`, "x"]));
    const way = wayOf(program(`echo '${JSON.stringify({ decide: "approve", labels })}'`));
    expect(await way.judge()).toMatchObject(held);
    expect(whyHeld()).toContain("together with those of the rule they must be at most 32 labels");
  });

  test("that does not exist holds the host", async () => {
    const rules = "rules: [{name: ask, program: {argv: [/nowhere/ask]}}]";
    expect(await wayOf(rules).judge()).toMatchObject(held);
    expect(whyHeld()).toContain("not found, or not executable");
  });

  test("leaves no process behind when it forks and ends", async () => {
    const text = `sleep 300 >/dev/null 2>&1 & echo $! > ${at("child")}; echo '{"decide": "approve"}'`;
    expect(await wayOf(program(text)).judge()).toMatchObject({ decide: "approve" });
    const child = Number(readFileSync(at("child"), "utf8"));
    // It is killed before the answer is read; the init of a container may reap it later.
    const state = () => {
      try {
        return readFileSync(`/proc/${child}/stat`, "utf8").split(") ")[1]?.[0] ?? "Z";
      } catch {
        return "Z";
      }
    };
    while (!["Z", "X"].includes(state())) await systemTurn();
  });

  test("is never asked about a host that trusted another root", async () => {
    const way = wayOf(program(`touch ${at("asked")}; echo '{"decide": "approve"}'`));
    expect(await way.judge({ trustMismatch: true })).toBeUndefined();
    expect(() => readFileSync(at("asked"))).toThrow();
    expect(counted).toEqual([]);
  });

  test("runs at most as often at once as there are workers; one host waits once", async () => {
    const text = `until [ -e ${at("go")} ]; do sleep 0.01; done; echo '{"decide": "approve"}'`;
    const way = wayOf(`workers: 2\n${program(text)}`);
    const many = Array.from({ length: 2 + 64 }, (_, i) => way.judge({ peelId: `web-${i}` }));
    const twice = await way.judge({ peelId: "web-0" }).catch((thrown) => thrown.kind);
    const beyond = await way.judge({ peelId: "web-66" }).catch((thrown) => thrown.kind);
    expect([twice, beyond, way.engine.load]).toEqual([
      ...["rate_limited", "rate_limited"],
      { running: 2, waiting: 64 },
    ]);
    writeFileSync(at("go"), "");
    expect((await Promise.all(many)).every((one) => one?.decide === "approve")).toBe(true);
    expect(way.engine.load).toEqual({ running: 0, waiting: 0 });
  }, 30_000);

  test("of a master that stops decides nothing, and the host asks again", async () => {
    const stopping = new AbortController();
    const way = wayOf(program("sleep 60"), [], stopping.signal);
    const requested = way.judge();
    while (way.engine.load.running === 0) await systemTurn();
    stopping.abort(new Error("stopped"));
    await expect(requested).rejects.toMatchObject({ kind: "unavailable" });
  });
});

test("without a rule that matches nothing is decided", async () => {
  expect(await wayOf("rules: [{match: {peel: 'db-*'}, decide: approve}]").judge()).toBeUndefined();
  expect(await wayOf("").judge()).toBeUndefined();
});

describe("a webhook", () => {
  /** An HTTPS server with a certificate of its own CA. */
  async function server(answer: (request: Request) => Response | Promise<Response>) {
    const impostor = await testAuthority("hooks");
    const served = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0, fetch: answer },
      tls: await impostor.issue({ names: ["hooks.example.com"] }),
    });
    const ca = at(`${served.port}.crt`);
    writeFileSync(ca, impostor.rootPem);
    return { [Symbol.dispose]: () => void served.stop(true), port: served.port, ca };
  }
  writeFileSync(at("secret"), "s3cret\n \n");
  const rule = (
    { port, ca }: { port: number | undefined; ca?: string },
    more = "",
    host = "hooks.example.com",
  ) =>
    `rules: [{name: ask, webhook: {url: 'https://${host}:${port}/ask', secret_file: ${at("secret")}${ca === undefined ? "" : `, ca_file: ${ca}`}${more}}}]`;
  const approval = () => Response.json({ decide: "approve", labels: { env: "hook" } });

  test("gets a signed record, and decides", async () => {
    let got: { body: string; signature: string | null } | undefined;
    using hook = await server(async (request) => {
      got = { body: await request.text(), signature: request.headers.get("x-svc-signature") };
      return approval();
    });
    expect(await wayOf(rule(hook), ["127.0.0.1"]).judge()).toEqual({
      ...{ decide: "approve", by: "policy:ask", labels: { env: "hook" } },
    });
    const expected = createHmac("sha256", "s3cret")
      .update(got?.body ?? "")
      .digest("hex");
    expect(got?.signature).toBe(`sha256=${expected}`);
    expect(JSON.parse(got?.body ?? "")).toMatchObject({ peel_id: "web-1_example_com" });
  });

  test("on a loopback address is refused unless it is allowed", async () => {
    let requested = 0;
    using hook = await server(() => {
      requested++;
      return approval();
    });
    expect(await wayOf(rule(hook)).judge()).toMatchObject(held);
    expect(whyHeld()).toContain(
      "hooks.example.com (127.0.0.1) is a loopback address; if rules may call it, add it to enroll.policy_webhook_allow",
    );
    expect(requested).toBe(0);
  });

  test("with a certificate of an unknown CA, of another CA, or for another name gets nothing", async () => {
    let requested = 0;
    const count = () => {
      requested++;
      return approval();
    };
    using hook = await server(count);
    using other = await server(count);
    const allow = ["127.0.0.1"];
    for (const rules of [
      rule({ port: hook.port }),
      rule({ port: hook.port, ca: other.ca }),
      rule(hook, "", "other.example.com"),
    ]) {
      expect(await wayOf(rules, allow).judge()).toMatchObject(held);
    }
    expect([requested, counted.filter((one) => one === "ask failed").length]).toEqual([0, 3]);
  });

  test.each<[string, () => Response | Promise<Response>, string, string]>([
    ["fails", () => new Response("", { status: 500 }), "ask failed", "responded with status 500"],
    [
      "leads elsewhere",
      () => Response.redirect("https://elsewhere.example.com/"),
      "ask failed",
      "a redirect (302), which is not followed",
    ],
    ["says nothing", () => new Promise<Response>(() => {}), "ask timeout", "no response within 0.3 s"],
    [
      "sends a megabyte",
      () => new Response("x".repeat(1_048_576)),
      "ask nonsense",
      "responded with more than 65536 bytes",
    ],
    ["lies", () => Response.json({ decide: "sure" }), "ask nonsense", "decide: must be"],
  ])("that %s holds the host", async (_, answer, count, reason) => {
    using hook = await server(answer);
    expect(await wayOf(rule(hook, ", timeout: 300ms"), ["127.0.0.1"]).judge()).toMatchObject(held);
    expect(whyHeld()).toContain(reason);
    expect(counted).toEqual([count, "ask hold"]);
  });

  test("without a secret is not called", async () => {
    using hook = await server(approval);
    writeFileSync(at("empty"), "\n");
    const rules = rule(hook).replace(at("secret"), at("empty"));
    expect(await wayOf(rules, ["127.0.0.1"]).judge()).toMatchObject(held);
    expect(whyHeld()).toContain("is empty");
  });
});

/** Lets other work run. */
const systemTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
