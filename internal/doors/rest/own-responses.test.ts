import { describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { bootstrapOperations } from "../../fleet/bootstrap/joined.ts";
import { type BootstrapDocument, createDocument, documentTag } from "../../identity/bootstrap/document.ts";
import { routesOf } from "./bind.ts";
import type { Call } from "./route.ts";

const content = {
  ca_bundle_pem: "pem",
  fingerprint: "sha256:00",
  nats_urls: ["tls://bus:4222"],
  command_keys: ["UA"],
  recovery_keys: ["UR"],
};
const document = createDocument(content, 0);
const tag = documentTag(document);

async function get(ifNoneMatch: string | undefined, served: () => BootstrapDocument = () => document) {
  const [route] = routesOf({ clock: manualClock() }, bootstrapOperations, {
    document: served,
    succession: undefined,
  });
  if (route === undefined) throw new Error("no route");
  const call: Call = {
    params: {},
    query: new URLSearchParams(),
    headers: new Headers(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
    body: undefined,
    ip: "192.0.2.1",
    requestId: "r",
    signal: new AbortController().signal,
    log: recordingLog(),
    note: () => {},
    keepOpen: () => () => {},
    beginStream() {},
  };
  return route.handle(call);
}

describe("GET /api/v1/enroll/ca", () => {
  test("gives the document, its tag, and a minute of caching", async () => {
    const response = await get(undefined);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ v: 1, ...content, issued_at: "1970-01-01T00:00:00.000Z" });
    expect(response.headers.get("etag")).toBe(tag);
    expect(response.headers.get("cache-control")).toBe("public, max-age=60");
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  test.each([
    tag,
    `W/${tag}`,
    "*",
    ` ${tag} `,
    `"other", ${tag}`,
    `"a,b",W/"c" ,\t${tag},"d"`,
    `, ${tag},,`,
    `"${"x".repeat(1000)}", W/${tag}`,
  ])("has not changed for If-None-Match: %p", async (header) => {
    const response = await get(header);
    expect(response.status).toBe(304);
    expect(await response.text()).toBe("");
    expect(response.headers.get("etag")).toBe(tag);
    expect(response.headers.get("cache-control")).toBe("public, max-age=60");
    expect(response.headers.get("content-type")).toBeNull();
  });

  test.each([
    "",
    '"other"',
    'W/"other", "more"',
    tag.slice(1, -1),
    `w/${tag}`,
    `${tag} "x"`,
    `*, ${tag}`,
    `"*"`,
    `"x${tag}`,
    `${tag.slice(0, -1)}`,
  ])("is sent again for If-None-Match: %p", async (header) => {
    expect((await get(header)).status).toBe(200);
  });

  test("a header that is made to be slow to match is not", async () => {
    const hostile = `${'"a",'.repeat(4000)}x`;
    expect((await get(hostile)).status).toBe(200);
  });

  test("a document that changes is served with its new tag", async () => {
    let served = document;
    expect((await get(tag, () => served)).status).toBe(304);
    served = createDocument({ ...content, nats_urls: [] }, 0);
    const response = await get(tag, () => served);
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBe(documentTag(served));
  });

  test("identity is the content without its time, in whatever order it is written", () => {
    expect(documentTag(createDocument(content, manualClock().now()))).toBe(tag);
    const { command_keys, ...rest } = content;
    expect(documentTag(createDocument({ command_keys, ...rest }, 0))).toBe(tag);
    for (const change of [
      { nats_urls: [] },
      { fingerprint: "" },
      { command_keys: [] },
      { recovery_keys: [] },
      { ca_bundle_pem: "x" },
    ]) {
      expect(documentTag(createDocument({ ...content, ...change }, 0))).not.toBe(tag);
    }
  });
});
