import { defined } from "../../base/defined.ts";
import { version } from "../../base/version.ts";
import { maxBodyBytes } from "./body.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Route } from "./route.ts";
import { type RouteDoc, tags } from "./route-doc.ts";

/** An operation in the form of OpenAPI 3.1, as a route of the router carries it. */
export type Detail = Readonly<Record<string, unknown>>;

/** What the description of an interface has besides the operations of the routes. */
interface Documentation {
  readonly [keyword: string]: unknown;
}

type Described = Omit<Route, "handle">;

const errorSchema: JsonSchema = {
  title: "Error",
  type: "object",
  properties: { error: { type: "string", description: "description of the failure, as free text" } },
  required: ["error"],
};

/**
 * The `detail` of each route, and the rest of the description (OpenAPI Specification 3.1.0).
 *
 * @param hidden routes that the router does not describe, so that the rest has them
 */
export function describeApi(
  routes: readonly Route[],
  hidden: readonly Described[],
): { details: ReadonlyMap<Described, Detail>; documentation: Documentation } {
  const components = new Map<string, JsonSchema>();
  const details = new Map([...routes, ...hidden].map((route) => [route, operationOf(route, components)]));
  const used = new Set<string>([...details.keys()].map(({ doc }) => doc.tag));
  const documentation = {
    openapi: "3.1.0",
    info: { title: "svc master", description: overview, version },
    servers: [{ url: "/" }],
    tags: Object.entries(tags).flatMap(([name, description]) =>
      used.has(name) ? [{ name, description }] : [],
    ),
    paths: Object.fromEntries(
      hidden.map((route) => [
        route.path.replace(/:([a-z]+)/g, "{$1}"),
        { [route.method.toLowerCase()]: details.get(route) },
      ]),
    ),
    components: {
      securitySchemes,
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
  return { details, documentation };
}

const overview =
  "The HTTPS interface of a master, TLS 1.3 only. Every answer has an `X-Request-ID`: that of the request if it has at most 128 letters, digits, `.`, `_` and `-`, otherwise a new one. Later versions may add fields to any answer; ignore fields that you do not know.";

const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "The token of an operator: from `api.tokens`, from `svc token create`, or from an identity provider of `api.oidc`",
  },
  nkey: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description:
      "`Nkey <public_key>:<signature>`: the peel's Ed25519 signature, in base64url, over the enrollment id",
  },
};

function operationOf(route: Described, components: Map<string, JsonSchema>): Detail {
  const { doc, auth } = route;
  const refer = (schema: JsonSchema) => withReferences(schema, components);
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    ...defined({ description: doc.description }),
    security: auth === "none" ? [] : [{ [auth]: [] }],
    ...(doc.parameters === undefined ? {} : { parameters: parametersOf(route.path, doc.parameters) }),
    ...(doc.request === undefined
      ? {}
      : {
          requestBody: {
            required: route.body === "json",
            content: { "application/json": { schema: refer(doc.request) } },
          },
        }),
    ...(doc.upload === undefined
      ? {}
      : {
          requestBody: {
            description: doc.upload.description,
            content: Object.fromEntries(doc.upload.types.map((type) => [type, { schema: {} }])),
          },
        }),
    responses: Object.fromEntries(
      Object.entries(responsesOf(route)).map(([status, response]) => {
        const isError = Number(status) >= 400;
        const schema = response.schema ?? (isError ? errorSchema : undefined);
        const type = response.type ?? (schema === undefined ? undefined : "application/json");
        return [
          status,
          {
            description: response.description,
            ...(response.headers === undefined ? {} : { headers: headersOf(response.headers) }),
            ...(type === undefined
              ? {}
              : { content: { [type]: schema === undefined ? {} : { schema: refer(schema) } } }),
          },
        ];
      }),
    ),
  };
}

/** Any operation may need what the bus stores. */
const storageAway =
  "The storage of the bus does not answer, or has no majority of its servers. Try again; the request may have taken effect already";

const notYours = "Your roles do not allow this; the message names who can do it";

/** The answers of a route, including those from its rules. */
function responsesOf({
  auth,
  body,
  raw,
  maxBodyBytes: max = raw?.maxBytes ?? maxBodyBytes,
  doc,
  operation,
}: Described): RouteDoc["responses"] {
  const ruled: Record<number, RouteDoc["responses"][number]> = {};
  if (auth === "bearer") ruled[401] = { description: "No valid token" };
  if (body !== undefined) {
    ruled[400] = { description: "The request is malformed; the message names the field" };
    ruled[413] = { description: `The body has more than ${max} bytes` };
    ruled[415] = { description: "The body is not declared as application/json" };
  }
  if (raw !== undefined) {
    ruled[413] = { description: `The body has more than ${max} bytes` };
    ruled[415] = { description: `The body is not declared as ${raw.types.join(" or ")}` };
  }
  ruled[429] = {
    description: "Too many requests from this address",
    headers: { "Retry-After": "Seconds to wait" },
  };
  ruled[431] = { description: "The path, query and headers are too large together" };
  ruled[500] = { description: "The master failed; its log has the reason" };
  if (operation === undefined) return { ...ruled, ...doc.responses };
  const alsoFor = (status: number, reason: string) => {
    const own = doc.responses[status]?.description;
    return own === undefined ? reason : `${own}. Or: ${reason}`;
  };
  return {
    ...ruled,
    ...doc.responses,
    ...(auth === "bearer" ? { 403: { description: alsoFor(403, notYours) } } : {}),
    503: {
      description: alsoFor(503, storageAway),
      headers: { "Retry-After": "Seconds to wait, where they are known" },
    },
  };
}

function parametersOf(path: string, parameters: NonNullable<RouteDoc["parameters"]>): unknown[] {
  return Object.entries(parameters).map(([name, parameter]) => {
    const isInPath = path.split("/").includes(`:${name}`);
    return {
      name,
      in: isInPath ? "path" : (parameter.in ?? "query"),
      required: isInPath || parameter.required === true,
      description: parameter.description,
      schema: parameter.schema ?? { type: "string" },
    };
  });
}

function headersOf(headers: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

/** Puts each schema that has a title among the components, once, and a reference in its place. */
function withReferences(schema: JsonSchema, components: Map<string, JsonSchema>): JsonSchema {
  const inner = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, walk(value, components)]),
  );
  const { title } = schema;
  if (typeof title !== "string") return inner;
  components.set(title, inner);
  return { $ref: `#/components/schemas/${title}` };
}

function walk(value: unknown, components: Map<string, JsonSchema>): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, components));
  if (typeof value !== "object" || value === null) return value;
  return withReferences(value as JsonSchema, components);
}
