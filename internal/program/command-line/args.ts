import type { ArgDef } from "citty";
import type { IdKind } from "./id-kinds.ts";

/** What an argument may have besides its description. */
type More = Omit<ArgDef, "type" | "description" | "valueHint" | "options"> & { ids?: IdKind };
type Nothing = Record<never, never>;

/** An option with a value, which help shows as `<valueHint>`. */
export function value<const Rest extends More & { repeated?: true } = Nothing>(
  valueHint: string,
  description: string,
  rest?: Rest,
) {
  return { type: "string", valueHint, description, ...rest } as {
    type: "string";
    valueHint: string;
    description: string;
  } & Rest;
}

/** A switch. */
export function flag<const Rest extends More = Nothing>(description: string, rest?: Rest) {
  return { type: "boolean", description, ...rest } as { type: "boolean"; description: string } & Rest;
}

/** An option that takes one of these words. */
export function choice<const Word extends string, const Rest extends More = Nothing>(
  words: readonly Word[],
  description: string,
  rest?: Rest,
) {
  return { type: "enum", options: [...words], description, ...rest } as {
    type: "enum";
    options: Word[];
    description: string;
  } & Rest;
}

/** A word in its place on the line; one with `rest` takes all that remain, and is declared last. */
export function word<const Rest extends More & { rest?: true; valueHint?: string } = Nothing>(
  description: string,
  rest?: Rest,
) {
  return { type: "positional", description, ...rest } as { type: "positional"; description: string } & Rest;
}
