import { SvcError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import type { Call, Route } from "../rest/mod.ts";
import type { ConsoleBundle } from "./bundle.ts";

/** Only content of this listener; no inline scripts and styles; in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const everywhere = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
} as const;

/** A year: the name of a file changes with its content. */
const forever = "public, max-age=31536000, immutable";

/** A master that was built without pages reports it. */
const withoutPages: ConsoleBundle = {
  index:
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>svc</title></head><body><p>The console is not in this build of svc-master: make build adds it.</p></body></html>\n',
  assets: [],
};

export interface ConsolePages {
  bundle: ConsoleBundle | undefined;
  /** Whether the console is served now. */
  isServed(): boolean;
}

/** The pages of the console: one page for each address, and its files. Nothing here depends on the caller. */
export function consoleRoutes({ bundle = withoutPages, isServed }: ConsolePages): Route[] {
  const files = new Map(
    bundle.assets.map((asset) => [asset.path, { ...asset, etag: etagOf(asset.bytes) }] as const),
  );
  const index = Buffer.from(bundle.index);
  const showIndex = () => answer(index, { "Content-Type": "text/html; charset=utf-8" });
  const get = (
    path: string,
    handle: (call: Call) => Response,
    budget: Route["budget"] = "relaxed",
  ): Route => ({
    ...{ method: "GET", path, auth: "none", budget },
    doc: { tag: "Sessions", id: "showConsole", summary: "The console", responses: {} },
    handle(call) {
      if (!isServed()) throw new SvcError("not_found", "not found");
      return handle(call);
    },
  });
  return [
    // People type the address of the master first. Programs get the answer that they get for any unknown path.
    get("/", ({ headers }) => {
      if (!/\btext\/html\b/i.test(headers.get("accept") ?? "")) throw new SvcError("not_found", "not found");
      return new Response(null, {
        status: 302,
        headers: { ...everywhere, Location: "/console/", Vary: "Accept" },
      });
    }),
    get(
      "/console",
      () => new Response(null, { status: 308, headers: { ...everywhere, Location: "/console/" } }),
    ),
    get("/console/", showIndex),
    get(
      "/console/assets/:name",
      ({ params, headers }) => {
        const file = files.get(params.name ?? "");
        if (file === undefined) throw new SvcError("not_found", "not found");
        const kept = { "Cache-Control": forever, ETag: file.etag };
        if (headers.get("if-none-match") === file.etag) {
          return new Response(null, { status: 304, headers: { ...everywhere, ...kept } });
        }
        return answer(file.bytes, { ...kept, "Content-Type": file.type });
      },
      // A file costs less than a refusal, and a page of which one is missing does not work.
      "none",
    ),
    get("/console/*", ({ params }) => {
      // The name of a page has no dot, unlike the ids below it: a file that does not exist is not a page.
      if (/^[^/]*\./.test(params["*"] ?? "")) throw new SvcError("not_found", "not found");
      return showIndex();
    }),
  ];
}

function answer(bytes: Uint8Array, headers: Record<string, string>): Response {
  return new Response(Uint8Array.from(bytes), {
    headers: { ...everywhere, "Content-Length": String(bytes.length), ...headers },
  });
}

const etagOf = (bytes: Uint8Array): string => `"${sha256(bytes).toString("base64url").slice(0, 22)}"`;
