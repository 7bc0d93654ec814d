import Ajv2020 from "ajv/dist/2020.js";
import type { ServedRoute } from "../../internal/doors/rest/listener.ts";
import type { Reply } from "./client.ts";

/** An operation of the API description. */
interface ApiOperation {
  operationId: string;
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string }[];
  responses: Record<string, { content?: Record<string, { schema?: object }>; headers?: object }>;
}

/** The API description that a master serves. */
export interface ApiText {
  paths: Record<string, Record<string, ApiOperation>>;
  components: { schemas: Record<string, object> };
}

/** Holds an answer against the description of its operation, and against the status that is expected. */
export type ExpectDescribed = (
  operationId: string,
  requested: Promise<Reply>,
  status: number,
) => Promise<Reply>;

/** What is answered when the agreement of others is required. */
export const waitingSchema = "#/components/schemas/WaitingRequest";

export const operationsOf = ({ paths }: ApiText) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );

/** Differences between the served routes and the description, in both directions. */
export function differences(routes: readonly ServedRoute[], described: ApiText): string[] {
  const rule = ({ security }: ApiOperation) => Object.keys(security[0] ?? { none: [] })[0];
  const reported = operationsOf(described).map(
    ({ method, path, operation }) => `${method.toUpperCase()} ${path} ${rule(operation)}`,
  );
  // The pages of the console are not part of the interface.
  const requested = routes.filter(({ path }) => path !== "/" && !path.startsWith("/console"));
  const served = requested.map(({ method, path, auth }) =>
    [method, path.replace(/:(\w+)/g, "{$1}"), auth].join(" "),
  );
  return [
    ...served.filter((name) => !reported.includes(name)).map((name) => `${name} is not described`),
    ...reported.filter((name) => !served.includes(name)).map((name) => `${name} is not served`),
  ];
}

/** Compares answers with the description. */
export interface Answers {
  /** `<operation> <status>` of each that was compared. */
  readonly seen: ReadonlySet<string>;
  /** The problems of an answer, according to the description of its operation. */
  faults(operationId: string, reply: Pick<Reply, "status" | "json">): string[];
}

export function answersOf(description: ApiText): Answers {
  // Ignores formats, and closes every object, to find undescribed fields.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const seen = new Set<string>();
  return {
    seen,
    faults(operationId, reply) {
      const found = operationsOf(description).find(({ operation }) => operation.operationId === operationId);
      const response = found?.operation.responses[reply.status];
      if (response === undefined) return [`${operationId} does not say what ${reply.status} means`];
      seen.add(`${operationId} ${reply.status}`);
      const schema = response.content?.["application/json"]?.schema;
      if (schema === undefined) return [];
      const text = JSON.stringify({ ...schema, components: description.components });
      const validate = ajv.compile(closed(JSON.parse(text)) as object);
      validate(reply.json);
      return (validate.errors ?? []).map(({ instancePath, message, params }) =>
        [operationId, reply.status, instancePath, message, JSON.stringify(params)].join(" "),
      );
    },
  };
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]));
  return "properties" in value && "type" in value ? { additionalProperties: false, ...inner } : inner;
}
