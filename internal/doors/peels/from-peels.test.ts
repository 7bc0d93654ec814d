import { expect, test } from "bun:test";
import type { Msg, NatsConnection } from "nats";
import { recordingLog } from "../../../test/harness/log.ts";
import { decode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { fromPeels, passOnProgress } from "./from-peels.ts";

type Serve = Bus["serve"];

/** A bus that takes notes. `web` is the site of the peels whose ids begin with it. */
function setup() {
  const served = new Map<string, Parameters<Serve>>();
  const callbacks = new Map<string, (error: null, message: Msg) => void>();
  const published: unknown[] = [];
  const nats = {
    subscribe(subject: string, { callback }: { callback: never }) {
      callbacks.set(subject, callback);
      return { unsubscribe: () => callbacks.delete(subject) };
    },
    publish: (...message: unknown[]) => published.push(message),
  } as unknown as NatsConnection;
  const serve: Serve = (...given) => {
    served.set(given[0], given);
    return { stop: () => void served.delete(given[0]) };
  };
  const admits = ({ site, peel }: { site?: string; peel: string }) =>
    site === undefined || peel.startsWith(site);
  return { served, callbacks, published, nats, admits, door: fromPeels({ serve, nats }, admits) };
}

test("a request counts over the bus of the masters, and over the link of the own site, and looks the same", async () => {
  const { served, door } = setup();
  const dropped: string[] = [];
  const serving = door.serve(
    "svc.peel.*.hello",
    "q",
    (data, subject, { reply }) => Buffer.from(`${subject} ${Buffer.from(data)} ${reply}`),
    (subject) => dropped.push(subject),
  );
  const request = async (pattern: string, subject: string) => {
    const answer = await served.get(pattern)?.[2](Buffer.from("hi"), subject, { reply: "_R_.t" });
    return Buffer.from(answer ?? []).toString();
  };
  const overLinks = "svc.from.*.svc.peel.*.hello";
  expect(await request("svc.peel.*.hello", "svc.peel.web-1.hello")).toBe("svc.peel.web-1.hello hi _R_.t");
  expect(await request(overLinks, "svc.from.web.svc.peel.web-1.hello")).toBe("svc.peel.web-1.hello hi _R_.t");
  const refusal = await served.get(overLinks)?.[2](Buffer.from("hi"), "svc.from.db.svc.peel.web-1.hello", {
    reply: "_R_.t",
  });
  expect(decode(refusal ?? new Uint8Array())).toMatchObject({ ok: false, error: { code: "unavailable" } });
  for (const site of ["web", "db"]) served.get(overLinks)?.[3]?.(`svc.from.${site}.svc.peel.web-1.hello`);
  expect(dropped).toEqual(["svc.peel.web-1.hello"]);
  serving.stop();
  expect(served.size).toBe(0);
});

test("progress is passed on for peels of the own site, and a request has an answer in any case", () => {
  const { callbacks, published, nats, admits } = setup();
  const passing = passOnProgress({ nats, log: recordingLog() }, admits);
  const answers: unknown[] = [];
  const send = (site: string, reply?: string) => {
    const message = {
      subject: `svc.from.${site}.svc.job.job-1.progress.web-1`,
      data: Buffer.from("p"),
      reply,
      respond: () => answers.push(site),
    };
    callbacks.get("svc.from.*.svc.job.*.progress.*")?.(null, message as unknown as Msg);
  };
  send("web");
  send("db");
  expect(published).toEqual([["svc.job.job-1.progress.web-1", Buffer.from("p"), expect.anything()]]);
  send("web", "_R_.x");
  send("db", "_R_.x");
  expect([published.length, answers]).toEqual([2, ["web", "db"]]);
  passing.stop();
  expect(callbacks.size).toBe(0);
});
