import { describe, expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import type { Call } from "../rest/route.ts";
import { packBundle, readBundle } from "./bundle.ts";
import { consoleRoutes } from "./routes.ts";

const bytes = Buffer.from("let a = 1;\n");
const bundle = {
  index: "<!doctype html>\n<title>svc</title>\n",
  assets: [{ path: "main-0a1b2c.js", type: "text/javascript; charset=utf-8", bytes }],
};

function get(path: string, params: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const route = consoleRoutes({ bundle, isServed: () => true }).find((one) => one.path === path);
  if (route === undefined) throw new Error(`no route ${path}`);
  return route.handle({ params, headers: new Headers(headers) } as unknown as Call) as Response;
}

test("a packed bundle is read back", () => {
  expect(readBundle(packBundle(bundle))).toEqual({
    ...bundle,
    assets: [{ ...bundle.assets[0], bytes: new Uint8Array(bytes) }] as never,
  });
});

test.each([
  ["a path out of its directory", { path: "../main.js" }],
  ["a path with a directory", { path: "a/main.js" }],
  ["a hidden file", { path: ".main.js" }],
  ["a type with another header", { type: "text/html\r\nSet-Cookie: a=b" }],
])("a bundle with %s is refused", (_, wrong) => {
  const assets = [{ path: "main.js", type: "text/javascript", bytes, ...wrong }];
  expect(() => readBundle(packBundle({ index: "", assets }))).toThrow();
});

describe("a file of the console", () => {
  test("never changes, and is not sent again to a browser that has it", async () => {
    const found = get("/console/assets/:name", { name: "main-0a1b2c.js" });
    expect(found.status).toBe(200);
    expect(Object.fromEntries(found.headers)).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      "content-length": String(bytes.length),
      "cross-origin-resource-policy": "same-origin",
    });
    expect(await found.text()).toBe(String(bytes));
    const etag = found.headers.get("etag") ?? "";
    const again = get("/console/assets/:name", { name: "main-0a1b2c.js" }, { "if-none-match": etag });
    expect([again.status, again.body]).toEqual([304, null]);
  });

  test.each(["main.js", "__proto__", "constructor", "../routes.ts", ""])("is not %p", (name) => {
    expect(() => get("/console/assets/:name", { name })).toThrow(SvcError);
  });
});

test("each address of a page is the page, and nothing else is", async () => {
  for (const at of ["peels", "peels/web-1.example.com", "jobs/job-1"]) {
    const page = get("/console/*", { "*": at });
    expect([await page.text(), page.headers.get("content-security-policy")]).toEqual([
      bundle.index,
      expect.stringMatching(/^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/),
    ]);
  }
  for (const at of ["favicon.ico", "assets.js/x", "../../etc/passwd.txt"]) {
    expect(() => get("/console/*", { "*": at })).toThrow("not found");
  }
});

test("a browser at the address of the master comes to the console, and a program does not", () => {
  for (const accept of ["text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "Text/HTML;q=0.9"]) {
    const moved = get("/", {}, { accept });
    expect([moved.status, moved.headers.get("location"), moved.headers.get("vary")]).toEqual([
      ...[302, "/console/", "Accept"],
    ]);
  }
  for (const accept of ["*/*", "application/json", "text/htmlx", ""]) {
    expect(() => get("/", {}, { accept })).toThrow("not found");
  }
});

test("a console that is turned off has no page and no file", () => {
  const routes = consoleRoutes({ bundle, isServed: () => false });
  for (const route of routes) {
    expect(() => route.handle({ params: {}, headers: new Headers() } as unknown as Call)).toThrow(
      "not found",
    );
  }
});
