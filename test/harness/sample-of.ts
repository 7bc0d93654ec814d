/** A JSON Schema, as far as samples need it. */
interface Shape {
  type?: string;
  enum?: string[];
  const?: unknown;
  format?: string;
  pattern?: string;
  anyOf?: Shape[];
  items?: Shape;
  properties?: Record<string, Shape>;
}
/** A value of a schema, with everything in it that may be absent. */
export function sampleOf(shape: Shape): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.anyOf !== undefined) return sampleOf(shape.anyOf[0] ?? {});
  if (shape.type === "array") return [sampleOf(shape.items ?? {})];
  if (shape.type === "object") {
    const { properties = {} } = shape;
    return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sampleOf(one)]));
  }
  if (shape.type === "boolean") return true;
  if (shape.type !== "string") return 1;
  if (shape.pattern?.startsWith("^job-") === true) return `job-${"0".repeat(27)}`;
  return shape.format === "date-time" ? "2026-01-01T00:00:00.000Z" : shape.pattern ? "0".repeat(64) : "enr-1";
}
