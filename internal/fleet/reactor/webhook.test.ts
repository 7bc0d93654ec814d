import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createWebhookAddresses } from "../../base/webhook/addresses.ts";
import { callWebhook, type WebhookCall } from "./webhook.ts";

const call: WebhookCall = { url: "https://hooks.example.com/secret-path", body: { a: 1 }, key: "k1" };

/** A server that gives these answers in turn: a status, or nothing. */
function hook(...answers: (number | "silence" | "refusal")[]) {
  const clock = manualClock();
  const requests: { url: string; init: BunFetchRequestInit }[] = [];
  const names: Record<string, string[]> = { "hooks.example.com": ["192.0.2.7"] };
  const lookups: string[] = [];
  const stopping = new AbortController();
  return {
    clock,
    requests,
    names,
    lookups,
    stopping,
    deps: {
      clock,
      jitter: () => 0.5,
      signal: stopping.signal,
      addresses: createWebhookAddresses(["127.0.0.2"]),
      lookup: async (host: string) => {
        lookups.push(host);
        return names[host] ?? [];
      },
      fetch: (url: string, init: BunFetchRequestInit) => {
        requests.push({ url, init });
        const answer = answers[requests.length - 1];
        if (answer === "refusal") return Promise.reject(new Error("refused"));
        if (typeof answer === "number") return Promise.resolve(new Response("body", { status: answer }));
        return new Promise<Response>((_, reject) => {
          init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        });
      },
    },
  };
}

test("a call is one POST of JSON with a key, and follows no redirect", async () => {
  const { deps, requests } = hook(204);
  await callWebhook(call, deps);
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    url: "https://192.0.2.7/secret-path",
    init: {
      method: "POST",
      redirect: "manual",
      body: '{"a":1}',
      headers: { "idempotency-key": "k1", host: "hooks.example.com" },
    },
  });
  expect(requests[0]?.init.headers).not.toHaveProperty("authorization");
});

test.each([301, 302, 307, 308, 400, 401, 403, 404, 410])("%i ends it at once", async (status) => {
  const { deps, requests } = hook(status, 200);
  await expect(callWebhook(call, deps)).rejects.toThrow(
    status < 400 ? "redirect" : `https://hooks.example.com responded with status ${status}`,
  );
  expect(requests).toHaveLength(1);
});

test.each([429, 500, 503, "refusal"] as const)(
  "after %p it is tried again, with the same key",
  async (answer) => {
    const { deps, requests, clock } = hook(answer, answer, 200);
    const done = callWebhook(call, deps);
    await settle();
    expect(requests).toHaveLength(1);
    clock.advance(1_000);
    await settle();
    expect(requests).toHaveLength(2);
    clock.advance(4_000);
    await done;
    expect(new Set(requests.map(({ init }) => JSON.stringify(init.headers))).size).toBe(1);
  },
);

test("after the third attempt it is given up, and the message has the place without its path", async () => {
  const { deps, requests, clock } = hook(500, 502, 503, 200);
  const done = callWebhook(call, deps).catch((thrown: Error) => thrown.message);
  await settle();
  clock.advance(1_000);
  await settle();
  clock.advance(4_000);
  const message = await done;
  expect(message).toBe("the webhook of https://hooks.example.com responded with status 503");
  expect(requests).toHaveLength(3);
});

test("a server that does not respond times out after 10 s", async () => {
  const { deps, requests, clock } = hook("silence", 200);
  const done = callWebhook(call, deps);
  await settle();
  clock.advance(9_999);
  await settle();
  expect(requests[0]?.init.signal?.aborted).toBe(false);
  clock.advance(1);
  await settle();
  expect(requests[0]?.init.signal?.aborted).toBe(true);
  clock.advance(1_000);
  await done;
  expect(requests).toHaveLength(2);
});

test("when another master takes over, neither an answer nor a pause is waited for", async () => {
  const silent = hook("silence");
  const waiting = callWebhook(call, silent.deps);
  await settle();
  silent.stopping.abort(new Error("over"));
  await expect(waiting).rejects.toThrow("over");
  const pausing = hook(500, 200);
  const paused = callWebhook(call, pausing.deps);
  await settle();
  pausing.stopping.abort(new Error("over"));
  await expect(paused).rejects.toThrow("over");
  expect(pausing.requests).toHaveLength(1);
});

test("the token is read from its file for each call, and a file without one is refused", async () => {
  using files = temporaryDirectory("webhook");
  const tokenFile = join(files.path, "token");
  const { deps, requests } = hook(200, 200);
  writeFileSync(tokenFile, "first\n");
  await callWebhook({ ...call, tokenFile }, deps);
  writeFileSync(tokenFile, "second\n");
  await callWebhook({ ...call, tokenFile }, deps);
  expect(requests.map(({ init }) => (init.headers as Record<string, string>).authorization)).toEqual([
    "Bearer first",
    "Bearer second",
  ]);
  writeFileSync(tokenFile, "two words\r\nx: y");
  await expect(callWebhook({ ...call, tokenFile }, deps)).rejects.toThrow("does not contain a token");
  await expect(callWebhook({ ...call, tokenFile: `${tokenFile}-not` }, deps)).rejects.toThrow("no such file");
  expect(requests).toHaveLength(2);
});

test("TLS is verified for the host of the URL, whatever the environment says, on a connection of its own", async () => {
  const { deps, requests } = hook(200, 200);
  await callWebhook({ ...call, url: "https://hooks.example.com:8443/a?b=c" }, deps);
  await callWebhook({ ...call, url: "https://[2001:db8::1]/" }, deps);
  expect(requests).toMatchObject([
    {
      url: "https://192.0.2.7:8443/a?b=c",
      init: {
        tls: { rejectUnauthorized: true, serverName: "hooks.example.com" },
        keepalive: false,
        headers: { host: "hooks.example.com:8443" },
      },
    },
    {
      url: "https://[2001:db8::1]/",
      init: { tls: { rejectUnauthorized: true }, headers: { host: "[2001:db8::1]" } },
    },
  ]);
  expect(requests[1]?.init.tls).not.toHaveProperty("serverName");
});

test.each<[string, string[], string]>([
  ["https://hooks.example.com/", ["127.0.0.1"], "hooks.example.com (127.0.0.1) is a loopback address"],
  ["https://hooks.example.com/", ["::1", "::ffff:7f00:1"], "hooks.example.com (::1) is a loopback address"],
  ["https://hooks.example.com/", ["169.254.169.254"], "is a metadata address"],
  ["https://0x7f.1/", [], "127.0.0.1 is a loopback address"],
  ["https://2130706433/", [], "127.0.0.1 is a loopback address"],
  ["https://[::ffff:127.0.0.1]/", [], "is a loopback address"],
  ["http://127.0.0.1/", [], "is a loopback address"],
])("%s at %p is not called", async (url, found, reason) => {
  const { deps, requests, names } = hook(200);
  names["hooks.example.com"] = found;
  const refused = callWebhook({ ...call, url }, deps);
  await expect(refused).rejects.toThrow(reason);
  await expect(refused).rejects.toThrow("add it to reactor.webhook_allow");
  expect(requests).toEqual([]);
});

test("a name is looked up for each attempt, and only what was checked is called", async () => {
  const { deps, requests, clock, names, lookups } = hook(503, 503, 503);
  names["hooks.example.com"] = ["127.0.0.1", "192.0.2.7", "127.0.0.2"];
  const done = callWebhook(call, deps).catch((thrown: Error) => thrown.message);
  await settle();
  clock.advance(1_000);
  await settle();
  names["hooks.example.com"] = ["127.0.0.1"];
  clock.advance(4_000);
  expect(await done).toContain("is a loopback address");
  expect(requests.map(({ url }) => url)).toEqual([
    "https://192.0.2.7/secret-path",
    "https://127.0.0.2/secret-path",
  ]);
  expect(lookups).toHaveLength(3);
});

test("a name that is not found is tried again", async () => {
  const { deps, requests, clock, names } = hook(200);
  names["hooks.example.com"] = [];
  const done = callWebhook(call, deps);
  await settle();
  names["hooks.example.com"] = ["192.0.2.7"];
  clock.advance(1_000);
  await done;
  expect(requests).toHaveLength(1);
});
