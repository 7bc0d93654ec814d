import type { Plain } from "../../../base/msgpack.ts";
import type { StateContext } from "../../function/mod.ts";

type Files = Pick<StateContext, "files">;

/** What Salt tells every template that a state renders, in addition to facts and settings. */
export function environmentVariables({ files: { environment } }: Files): Record<string, Plain> {
  return { saltenv: environment, env: environment };
}

/**
 * What Salt tells the template of a file: its name and attributes as the state gives them, and the source that it is.
 * The variables of the state itself count before these.
 */
export function fileVariables(
  name: string,
  source: string | undefined,
  given: { user?: string | undefined; group?: string | undefined; mode?: string | undefined },
  context: Files,
): Record<string, Plain> {
  const { user = null, group = null, mode = null } = given;
  return { name, source: source ?? null, user, group, mode, attrs: null, ...environmentVariables(context) };
}
