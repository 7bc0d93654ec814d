import { type AnyElysia, Elysia } from "elysia";
import { SvcError } from "../../base/errors.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { carriedPage, pageFiles, stylePlace } from "./docs-page.ts";
import { type Detail, describeApi } from "./openapi.ts";
import type { Route } from "./route.ts";
import type { RouteDoc } from "./route-doc.ts";

/** The description of the routes, and a page to read and try them (specification, "Optional documentation routes"). */
export interface Docs {
  /** A plugin of the router. It describes all routes of the router that uses it, from their `detail`. */
  readonly plugin: AnyElysia;
  /** Rules of the routes that the plugin adds. */
  readonly rules: readonly Omit<Route, "handle">[];
  /** The `detail` of a route. A route that is not described is hidden. */
  detailOf(route: Route): Detail;
}

const [pagePath, jsonPath] = ["/api/v1/docs", "/api/v1/openapi.json"] as const;
const hidden = { hide: true };

/** Loads the plugin, which only masters with `api.docs_enabled` need. */
export async function createDocs(described: readonly Route[]): Promise<Docs> {
  const { swagger } = await import("@elysiajs/swagger");
  const { details, documentation } = describeApi(described, rules);
  const swaggerOptions = {
    url: jsonPath,
    // Otherwise the page would send the description to a validator on the internet.
    validatorUrl: "none",
    tryItOutEnabled: true,
    persistAuthorization: false,
  };
  const create = () =>
    swagger({
      ...{ provider: "swagger-ui", path: pagePath, specPath: jsonPath },
      ...{ theme: stylePlace, autoDarkMode: false, excludeStaticFile: false },
      ...{ documentation, swaggerOptions },
    });
  const served = create();
  // Another instance: a router cannot use a plugin whose response of the page has been read.
  const { html, policy } = await carriedPage(await create().handle(requestTo(pagePath)));
  const page = () => answer("text/html; charset=utf-8", html, { "Content-Security-Policy": policy });
  // Made once: it takes a hundred times as long as the JSON, and anyone may request it.
  let made: Promise<string> | undefined;
  const yaml = () => (made ??= served.handle(requestTo(jsonPath)).then(asYaml));
  const plugin = new Elysia()
    .mapResponse(({ path, responseValue }) => {
      if (path === pagePath) return page();
      return path === jsonPath ? answer("application/json", JSON.stringify(responseValue)) : undefined;
    })
    .use(served)
    .get(`${pagePath}/`, page, { detail: hidden })
    .get(`${pagePath}/:file`, ({ params }) => fileOf(params.file), { detail: hidden })
    .get("/api/v1/openapi.yaml", async () => answer("application/yaml", await yaml()), { detail: hidden });
  return { plugin, rules, detailOf: (route) => details.get(route) ?? hidden };
}

const requestTo = (path: string) => new Request(`https://listener${path}`);

const asYaml = async (description: Response) => formatYaml(await description.json());

function fileOf(name: string): Response {
  const found = Object.hasOwn(pageFiles, name) ? pageFiles[name] : undefined;
  if (found === undefined) throw new SvcError("not_found", "not found");
  return answer(found.type, found.text());
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
    parameters: { file: { description: "Name of the file", schema: { enum: Object.keys(pageFiles) } } },
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

const rule = (path: string, doc: RouteDoc) =>
  ({ method: "GET", path, auth: "none", budget: "relaxed", doc }) as const;
const rules = [
  rule(pagePath, pageDoc("showDocs")),
  rule(`${pagePath}/`, pageDoc("showDocsDirectory")),
  rule(`${pagePath}/:file`, docs.file),
  rule(jsonPath, docs.json),
  rule("/api/v1/openapi.yaml", docs.yaml),
];
