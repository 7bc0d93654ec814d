import { afterAll, beforeAll, expect, test } from "bun:test";
import { encode, type Plain } from "../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../internal/base/names/operator-subject.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { operatorConfig, svc as run } from "../harness/svc.ts";

// What svc says of the answers of a master, which the test gives.

let bus: TestBus;
let masters: Bus;
beforeAll(async () => {
  bus = await startBus();
  masters = await connectTo(bus, "master");
});
afterAll(async () => {
  await masters?.drain();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => run(["--config", operatorConfig(bus), ...argv]);

/** Answers a subject until the end of the block. */
async function answering(subject: string, answer: Plain) {
  const serving = masters.nats.subscribe(fromOperatorSubject("*", subject), {
    callback: (_, message) => void message.respond(encode(answer)),
  });
  await masters.nats.flush();
  return { [Symbol.dispose]: () => serving.unsubscribe() };
}
const resolved = { ok: true, total: 1, targets: [{ peel_id: "web-1", alive: true }] };
const refused = {
  ...{ ok: true, allowed: false, roles: ["viewer"], lacking: "jobs run test.ping" },
  ...{ reason: "no rule allows test.ping", holders: ["admin", "operator"] },
};

test.each<[name: string, answer: Plain | undefined, exit: number, said: string | undefined]>([
  [
    "a refusal",
    refused,
    1,
    "you may not do this: no rule allows test.ping; ask an operator with role admin or operator",
  ],
  [
    "approvals",
    { ok: true, allowed: true, rule: "role deployer, roles.yaml:9", approvals: 2 },
    0,
    "role deployer, roles.yaml:9; 2 other operators must agree",
  ],
  [
    "nothing in the way",
    { ok: true, allowed: true, rule: "role admin, built in", approvals: 0 },
    0,
    undefined,
  ],
  ["a master of an earlier version", undefined, 0, undefined],
])("svc run --preview shows %s", async (_, answer, exit, said) => {
  using _resolving = await answering("svc.target.resolve", resolved);
  using _asked = answer === undefined ? undefined : await answering("svc.admin.role.can", answer);
  const ran = await svc("run", "web-1", "test.ping", "--preview", "--no-color");
  expect(ran.stdout).toContain("web-1");
  expect([ran.exit, ran.stderr.split("\n").slice(1).join("\n")]).toEqual([
    exit,
    said === undefined ? "" : `${said}\n`,
  ]);
});

test("a refusal of a master names the request, by which its logs are searched", async () => {
  const error = { code: "forbidden", message: "ann (role viewer) may not do this: no rule allows test.ping" };
  using _ = await answering("svc.job.request", { ok: false, error });
  const ran = await svc("run", "web-1", "test.ping", "--async");
  expect([ran.exit, ran.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^svc: ann \(role viewer\) may not do this: no rule allows test\.ping \[request \S+\]\n$/,
    ),
  ]);
});
