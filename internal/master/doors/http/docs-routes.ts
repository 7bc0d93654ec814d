import { readFileSync } from "node:fs";
import stylePath from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import scriptPath from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { SvcError } from "../../../base/errors.ts";
import { formatYaml } from "../../../base/yaml.ts";
import { describeApi } from "./openapi.ts";
import type { Route } from "./route.ts";
import type { RouteDoc } from "./route-doc.ts";

/** Only content of this listener, and no inline scripts or styles. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/v1/docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="/api/v1/docs/swagger-ui.js"></script>
<script src="/api/v1/docs/start.js"></script>
</body>
</html>
`;

// Without `validatorUrl: null` the page would send the description to a validator on the internet.
const start = `SwaggerUIBundle({
  validatorUrl: null,
  url: "/api/v1/openapi.json",
  dom_id: "#docs",
  tryItOutEnabled: true,
  persistAuthorization: false,
});
`;

const script = "text/javascript; charset=utf-8";
const files: Readonly<Record<string, { type: string; text(): string }>> = {
  "start.js": { type: script, text: () => start },
  "swagger-ui.js": { type: script, text: () => readFileSync(scriptPath, "utf8") },
  "swagger-ui.css": { type: "text/css; charset=utf-8", text: () => readFileSync(stylePath, "utf8") },
};

/**
 * The description of these routes and of its own, and a page to read and try them (specification, "Optional
 * documentation routes"). The page loads nothing from other servers.
 */
export function docsRoutes(described: readonly Route[]): Route[] {
  const once = (make: () => string) => {
    let made: string | undefined;
    return () => (made ??= make());
  };
  const describe = () => describeApi([...described, ...own]);
  const asJson = once(() => JSON.stringify(describe()));
  const asYaml = once(() => formatYaml(describe()));
  const showPage = () => answer("text/html; charset=utf-8", page, { "Content-Security-Policy": policy });
  const get = (path: string, doc: RouteDoc, handle: Route["handle"]): Route => ({
    method: "GET",
    path,
    auth: "none",
    budget: "relaxed",
    doc,
    handle,
  });
  const own = [
    get("/api/v1/docs", pageDoc("showDocs"), showPage),
    get("/api/v1/docs/", pageDoc("showDocsDirectory"), showPage),
    get("/api/v1/docs/:file", docs.file, ({ params }) => {
      const { file = "" } = params;
      const found = Object.hasOwn(files, file) ? files[file] : undefined;
      if (found === undefined) throw new SvcError("not_found", "not found");
      return answer(found.type, found.text());
    }),
    get("/api/v1/openapi.json", docs.json, () => answer("application/json", asJson())),
    get("/api/v1/openapi.yaml", docs.yaml, () => answer("application/yaml", asYaml())),
  ];
  return own;
}

function answer(type: string, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text, {
    headers: { "Content-Type": type, "Content-Length": String(Buffer.byteLength(text)), ...headers },
  });
}

const pageDoc = (id: string): RouteDoc => ({
  tag: "Documentation",
  id,
  summary: "Read this description and try the operations",
  responses: { 200: { description: "A page", type: "text/html" } },
});
const docs = {
  file: {
    tag: "Documentation",
    id: "getDocsFile",
    summary: "Get a script or the style of that page",
    parameters: { file: { description: "Name of the file", schema: { enum: Object.keys(files) } } },
    responses: {
      200: { description: "The file", type: "*/*" },
      404: { description: "The file does not exist" },
    },
  },
  json: {
    tag: "Documentation",
    id: "getDescription",
    summary: "Get this description as JSON",
    responses: { 200: { description: "OpenAPI 3.1", schema: { type: "object" } } },
  },
  yaml: {
    tag: "Documentation",
    id: "getDescriptionAsYaml",
    summary: "Get this description as YAML",
    responses: { 200: { description: "OpenAPI 3.1", type: "application/yaml" } },
  },
} as const satisfies Record<string, RouteDoc>;
