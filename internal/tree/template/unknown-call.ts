import { suggestion } from "../../base/nearest.ts";
import type { EngineFailure } from "./error.ts";
import { functionNames } from "./lookups.ts";

const call =
  /\b(?:salt|svc)\s*(?:\[\s*(?:"([^"]*)"|'([^']*)')\s*\]|\.\s*([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*))\s*\(/g;
/** The engine gives the last line of a call that has several. */
const linesBefore = 20;

/**
 * Finds the call of a function that templates do not have: the engine does not name it.
 *
 * @returns the line and a description; `undefined` when the failure is another one
 */
export function unknownCall(
  { kind, detail, line }: EngineFailure,
  text: string,
): { line: number; reason: string } | undefined {
  const isCall =
    kind === "invalid operation"
      ? detail.endsWith("undefined is not callable")
      : kind === "unknown method" && detail.startsWith("undefined has");
  if (!isCall) return undefined;
  const lines = text.split("\n");
  for (let at = line; at > Math.max(0, line - linesBefore); at--) {
    const named = [...(lines[at - 1] ?? "").matchAll(call)].map(
      ([, double, single, dotted]) => double ?? single ?? dotted?.replaceAll(/\s/g, "") ?? "",
    );
    const unknown = named.find((name) => !functionNames.includes(name));
    if (unknown === undefined) continue;
    const shown = `salt['${unknown.slice(0, 60)}']`;
    const hint = suggestion(unknown, functionNames);
    return {
      line: at,
      reason: `${shown} does not exist in templates${hint}; they have ${functionNames.join(", ")}`,
    };
  }
  return { line, reason: "a function is called that does not exist in templates" };
}
