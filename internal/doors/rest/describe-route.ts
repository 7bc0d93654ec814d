import type * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { idPattern } from "../../base/id.ts";
import { mayWait } from "../../fleet/approvals/mod.ts";
import type { RestLines } from "../../fleet/operation/door-table/mod.ts";
import type { FieldsSchema, InputSchema, Operation } from "../../fleet/operation/mod.ts";
import { type JsonSchema, schemaOf, withPeelNames } from "./json-schema.ts";
import { nextPage, pageParameters } from "./page.ts";
import type { RouteDoc } from "./route-doc.ts";

type Described = Pick<
  Operation<never, InputSchema, v.GenericSchema>,
  "summary" | "description" | "input" | "output" | "kind" | "scope"
>;

const badQuery = { 400: "A parameter is unknown or malformed" };

/** The names of the fields in a path. */
export function pathFields(path: string): string[] {
  return [...path.matchAll(/:([a-z]+)/g)].map(([, name = ""]) => name);
}

/** Whether the fields that are not in the path are in the body; otherwise they are in the query. */
export function hasBody({ method, body, raw }: Pick<RestLines, "method" | "body" | "raw">): boolean {
  if (raw !== undefined) return false;
  return method === "POST" || method === "PUT" || body === "required";
}

/** The description of a route: fields, types and texts come from the schemas of its operation. */
export function describeRoute(
  { summary, description, input, output, kind, scope }: Described,
  lines: RestLines & { id: string },
): RouteDoc {
  const { path, auth, tag, id, answers, show, page, headers = page === undefined ? {} : nextPage } = lines;
  const shape = schemaOf(input);
  const fields = Object.entries(shape.properties as Record<string, JsonSchema>);
  const isRequired = (name: string) => (shape.required as string[]).includes(name);
  const inPath = pathFields(path);
  const isParameter = (name: string) => !hasBody(lines) || inPath.includes(name);
  const parameters = {
    ...Object.fromEntries(
      fields
        .filter(([name]) => isParameter(name) && name !== lines.raw?.field)
        .map(([name, { description: text, ...schema }]) => [
          name,
          {
            description: typeof text === "string" ? text : "",
            schema,
            ...(isRequired(name) || inPath.includes(name) ? { required: true } : {}),
          },
        ]),
    ),
    ...(page === undefined ? {} : pageParameters),
    ...Object.fromEntries(
      Object.entries(lines.requestHeaders ?? {}).map(([name, text]) => [
        name,
        { in: "header" as const, description: text },
      ]),
    ),
  };
  const inBody = fields.filter(([name]) => !isParameter(name));
  const { entries } = output as Partial<FieldsSchema>;
  const isStream = entries === undefined;
  return {
    tag,
    id,
    summary,
    ...defined({ description }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(lines.raw === undefined
      ? {}
      : { upload: { types: lines.raw.types, description: describedField(shape, lines.raw.field) } }),
    ...(inBody.length === 0
      ? {}
      : {
          request: {
            ...shape,
            title: lines.bodyTitle ?? shape.title,
            properties: Object.fromEntries(inBody),
            required: inBody.map(([name]) => name).filter(isRequired),
          },
        }),
    responses: withWaiting(
      auth === "bearer" && mayWait({ kind, scope }),
      Object.fromEntries(
        Object.entries({ ...(auth === "bearer" && !hasBody(lines) ? badQuery : {}), ...answers }).map(
          ([status, text]) => {
            if (Number(status) >= 400) return [status, { description: text }];
            const more = Object.keys(headers).length === 0 ? {} : { headers };
            if (Number(status) >= 300) return [status, { description: text, ...more }];
            const body = isStream
              ? { type: "text/event-stream" }
              : { schema: answerOf(output, { shown: show ?? page, namesPeels: auth === "bearer" }) };
            return [status, { description: text, ...body, ...more }];
          },
        ),
      ),
    ),
  };
}

const describedField = (shape: JsonSchema, field: string): string =>
  String((shape.properties as Record<string, JsonSchema>)[field]?.description ?? "");

/** Accepted, and done when others have agreed. */
const waits = {
  description: "The request waits until other operators agree",
  schema: {
    title: "WaitingRequest",
    type: "object",
    properties: {
      ok: { const: true },
      approval: { type: "string", pattern: idPattern("apr"), description: "Id of the request that waits" },
      needs: { type: "integer", minimum: 1, description: "How many other operators must agree" },
    },
    required: ["ok", "approval", "needs"],
  },
  headers: { Location: "Path of the request that waits" },
} as const;

/** Adds what is answered when a role requires the agreement of others. */
function withWaiting(isAdded: boolean, responses: RouteDoc["responses"]): RouteDoc["responses"] {
  if (!isAdded) return responses;
  const own = responses[202];
  if (own === undefined) return { ...responses, 202: waits };
  return {
    ...responses,
    202: {
      description: `${own.description}. Or: ${waits.description}`,
      schema: { oneOf: [own.schema, waits.schema] },
      headers: { ...own.headers, ...waits.headers },
    },
  };
}

/** The schema of an answer, of one field of it, or of some of its fields. */
function answerOf(
  output: v.GenericSchema,
  { shown, namesPeels }: { shown: string | readonly string[] | undefined; namesPeels: boolean },
): JsonSchema {
  const whole = namesPeels ? withPeelNames(schemaOf(output)) : schemaOf(output);
  if (shown === undefined) return whole;
  const properties = whole.properties as Record<string, JsonSchema>;
  if (typeof shown === "string") return properties[shown] ?? {};
  return {
    ...whole,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => shown.includes(name))),
    required: (whole.required as string[]).filter((name) => shown.includes(name)),
  };
}
