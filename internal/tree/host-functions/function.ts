import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { CallContext } from "../../host/modules/mod.ts";
import type { HostCall } from "../template/mod.ts";

/**
 * What templates may do on a host: nothing; call functions that only read it; or also functions that run a command
 * which the template chooses.
 */
export const accessLevels = ["none", "read", "command"] as const;
export type HostAccess = (typeof accessLevels)[number];

/** What functions need of a call. */
export interface HostContext extends Pick<CallContext, "clock" | "signal"> {
  facts: { get(path: string): Plain | undefined };
}

/** What a function may use. */
export interface HostTools {
  /** Its signal aborts when the time is over. */
  readonly context: HostContext;
  readonly random: Random;
}

/** A function of `salt[…]` that looks at the host. */
export interface HostFunction {
  readonly name: string;
  readonly needs: Exclude<HostAccess, "none">;
  /** In their order; those with a `?` may be left out. */
  readonly parameters: readonly string[];
  readonly doc: string;
  /** @param args by name @throws SvcError */
  run(args: Readonly<Record<string, Plain>>, tools: HostTools): Promise<Plain> | Plain;
}

/** Declares functions that only read the host. */
export function reading(
  name: string,
  parameters: readonly string[],
  doc: string,
  run: HostFunction["run"],
): HostFunction {
  return { name, needs: "read", parameters, doc, run };
}

/** The arguments of a call by name. @throws SvcError for one that is missing; what is unknown is ignored, as in Salt */
export function argumentsOf(
  { name, parameters }: HostFunction,
  { args, named }: HostCall,
): Record<string, Plain> {
  const read: Record<string, Plain> = { ...named };
  for (const [at, parameter] of parameters.entries()) {
    const word = parameter.replace("?", "");
    const value = args[at];
    if (value !== undefined) read[word] = value;
    if (read[word] === undefined && word === parameter) {
      throw new SvcError("bad_request", `${name}: ${word}: missing`);
    }
  }
  return read;
}

/** @throws SvcError */
export function text(args: Readonly<Record<string, Plain>>, name: string, fallback?: string): string {
  const value = args[name] ?? fallback;
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new SvcError("bad_request", `${name}: expected a string`);
}
