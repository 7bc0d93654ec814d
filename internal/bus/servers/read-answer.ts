import * as v from "valibot";

/** Reads what a server answered to a request of the monitoring; `undefined` for an error or another form. */
export function readAnswer<T>(schema: v.GenericSchema<unknown, T>, text: string): T | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(text));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
