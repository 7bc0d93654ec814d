import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:tls";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { runRecord } from "../harness/run-record.ts";

// What pages of strangers, links of other persons and headers sent twice could do with a session, on a compiled master.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: MasterDaemon;
const door = () => ({ url: master.url, ca: bus.caPem });

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function signedIn(): Promise<ConsoleClient> {
  const browser = new ConsoleClient();
  expect((await browser.signIn(door(), { token: master.token })).status).toBe(201);
  return browser;
}

const nameOf = async (browser: ConsoleClient) => {
  const { json } = await browser.request(door(), "GET", "/api/v1/sessions/current");
  return (json as { name?: string }).name;
};

test("a page of another name that leads to the master has no session, neither to read nor to change", async () => {
  const browser = await signedIn();
  const { port } = new URL(master.url);
  const body = { name: "made-by-a-page", roles: ["viewer"] };
  for (const host of [
    `evil.example.com:${port}`,
    `localhost.evil.example.com:${port}`,
    `198.51.100.1:${port}`,
  ]) {
    const headers = { host, origin: `https://${host}` };
    const read = await browser.request(door(), "GET", "/api/v1/sessions/current", { headers });
    const made = await browser.request(door(), "POST", "/api/v1/tokens", { headers, body });
    const error = expect.stringContaining("the cookie of the console does not count for the host");
    expect([read.status, read.json, made.status, made.json]).toEqual([401, { error }, 401, { error }]);
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`]) {
    const headers = { host, origin: `https://${host}` };
    const read = await browser.request(door(), "GET", "/api/v1/sessions/current", { headers });
    expect([read.status, read.json]).toMatchObject([200, { name: "ci" }]);
  }
  const made = await browser.request(door(), "POST", "/api/v1/tokens", { body });
  expect(made.status).toBe(201);
  runRecord.register("token", (made.json as { token: string }).token);
});

test("a link of another person does not replace a session, and signs in who has none", async () => {
  const browser = await signedIn();
  const made = await browser.request(door(), "POST", "/api/v1/tokens", {
    body: { name: "mallory", roles: ["viewer"] },
  });
  const { token } = made.json as { token: string };
  runRecord.register("token", token);
  const reply = await send(master.url, bus.caPem, {
    ...{ method: "POST", path: "/api/v1/sessions/links", from: browser.from, body: "{}" },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  const { link } = reply.json as { link: string };
  runRecord.register("token", link);
  const refused = await browser.request(door(), "POST", "/api/v1/sessions", {
    body: { link, signed_in_as: "ci" },
  });
  expect([refused.status, refused.headers["set-cookie"]]).toEqual([409, undefined]);
  expect(await nameOf(browser)).toBe("ci");
  // The link stays good for its owner.
  const own = new ConsoleClient();
  expect((await own.signIn(door(), { link })).status).toBe(201);
  expect(await nameOf(own)).toBe("token:mallory");
});

test("a request with two Authorization headers is refused, whichever is valid", async () => {
  const statusOf = (...tokens: string[]) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: "localhost", port: Number(new URL(master.url).port), ca: bus.caPem });
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes;
      });
      socket.on("close", () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "none"));
      socket.on("error", () => {});
      const lines = tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join("");
      socket.write(`GET /api/v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`);
    });
  expect(await statusOf(master.token)).toBe("200");
  expect(await statusOf("wrong")).toBe("401");
  expect(await statusOf(master.token, "wrong")).toBe("400");
  expect(await statusOf("wrong", master.token)).toBe("400");
  expect(await statusOf(master.token, master.token)).toBe("400");
});
