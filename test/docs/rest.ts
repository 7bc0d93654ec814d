import { cell } from "./reference.ts";

/** What the page needs of an OpenAPI description as a master serves it. */
export interface Description {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    securitySchemes: Record<string, { description: string }>;
  };
}
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, unknown>[];
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<
    string,
    {
      description: string;
      content?: Record<string, { schema?: Schema }>;
      headers?: Record<string, { description: string }>;
    }
  >;
}
interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  format?: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

const master = "https://localhost:8443/api/v1";
const job = "job-3MPzZzsjcso0sKTYJqHwphsZVOX";
const fenced = (info: string, lines: readonly string[]) => [`\`\`\`${info}`, ...lines, "```"].join("\n");

/** The reference of the REST interface, as Markdown: the text of `docs/rest.md`. */
export function restReference({ info, tags, paths, components }: Description): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return `${[
    "# REST",
    "<!-- Generated from the API description of a master and from test/docs/rest.ts: change the operations of the rooms and their tables of doors, not this page. -->",
    info.description,
    'A master that runs with `--api-docs` also serves an OpenAPI description at `/api/v1/openapi.yaml` and `/api/v1/openapi.json`, and an interactive page at `/api/v1/docs`. Every failure returns `{"error": "..."}`.',
    "On the fleet of the [quickstart](quickstart.md):",
    fenced("sh", [
      'ask() { curl -s --cacert fleet/auth/ca/root.crt -H "Authorization: Bearer $(cat fleet/operator.token)" "$@"; }',
      `ask -H 'Content-Type: application/json' -d '{"target": "web-*", "function": "test.ping"}' ${master}/jobs`,
    ]),
    fenced("text", [`{"jid":"${job}","targets":["web-1_example_com"],"status":"running"}`]),
    fenced("sh", [`ask ${master}/jobs/${job}`, `ask '${master}/enrollments?state=active'`]),
    "Requests authenticate in these ways:",
    ...Object.entries(components.securitySchemes).map(
      ([name, { description }]) => `- **${name}**: ${description}.`,
    ),
    ...tags.flatMap(({ name, description }) => [
      `## ${name}`,
      `${description}.`,
      ...operations.filter(({ operation }) => operation.tags.includes(name)).flatMap(describeOperation),
    ]),
    "## Schemas",
    ...Object.entries(components.schemas).flatMap(([name, schema]) => [`### ${name}`, fieldTable(schema)]),
  ].join("\n\n")}\n`.replace(/(\n- .*)\n(?=\n- )/g, "$1");
}

function describeOperation({
  path,
  method,
  operation,
}: {
  path: string;
  method: string;
  operation: Operation;
}): string[] {
  const { summary, description, security, parameters = [], requestBody, responses } = operation;
  const auth = security.flatMap((rule) => Object.keys(rule));
  const sentence = `${summary}.${description === undefined ? "" : ` ${description.replace(/([^.])$/, "$1.")}`}`;
  const body = Object.values(requestBody?.content ?? {})[0];
  return [
    `### ${method} ${path}`,
    `${sentence} ${auth.length === 0 ? "No authentication." : `Authentication: ${auth.join(" or ")}.`}`,
    ...(parameters.length === 0
      ? []
      : [
          table(
            ["Parameter", "In", "Type", "Meaning"],
            parameters.map(({ name, in: place, required, schema, description: meaning }) => [
              `\`${name}\``,
              place,
              `${typeOf(schema)}${required ? ", required" : ""}`,
              meaning,
            ]),
          ),
        ]),
    ...(body === undefined
      ? []
      : [`Body${requestBody?.required === true ? "" : ", optional"}: ${typeOf(body.schema)}.`]),
    table(
      ["Status", "Meaning", "Body"],
      Object.entries(responses).map(([status, { description: meaning, content = {}, headers = {} }]) => [
        status,
        `${meaning}${Object.entries(headers)
          .map(([name, header]) => `. \`${name}\`: ${header.description}`)
          .join("")}`,
        Object.entries(content)
          .map(([type, { schema }]) =>
            schema === undefined || type !== "application/json" ? `\`${type}\`` : typeOf(schema),
          )
          .join(", "),
      ]),
    ),
  ];
}

function fieldTable(schema: Schema): string {
  const { properties, required = [] } = schema;
  if (properties === undefined)
    return `${typeOf(schema)}${schema.description === undefined ? "" : `: ${schema.description}`}.`;
  return table(
    ["Field", "Type", "Meaning"],
    Object.entries(properties).map(([name, field]) => [
      `\`${name}\``,
      `${typeOf(field)}${required.includes(name) ? "" : ", may be absent"}`,
      field.description ?? "",
    ]),
  );
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choice !== undefined) return choice.map(typeOf).join(" or ");
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object") {
    if (typeof schema.additionalProperties === "object")
      return `map of ${typeOf(schema.additionalProperties)}`;
    const names = Object.keys(schema.properties ?? {});
    return names.length === 0 ? "object" : `object with ${names.map((name) => `\`${name}\``).join(", ")}`;
  }
  const limits = [
    ...(schema.minimum === undefined ? [] : [`from ${schema.minimum}`]),
    ...(schema.maximum === undefined ? [] : [`to ${schema.maximum}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
  const type = schema.format === "date-time" ? "time" : [schema.type ?? "anything"].flat().join(" or ");
  return [type, ...limits].join(", ");
}

function table(head: readonly string[], rows: readonly string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
}
