import { attempt, describeError, SvcError } from "../../base/errors.ts";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import { checkFact, type Facts } from "./fact.ts";

/**
 * Parses a map of facts from YAML or JSON.
 *
 * @param name the name of the text in messages
 * @returns the valid facts, and the reason for each rejected one
 * @throws SvcError `bad_request` when the text is not a map
 */
export function parseFacts(text: string, name: string): { facts: Facts; refused: string[] } {
  const value = parseMap(text, name);
  const refused: string[] = [];
  const facts = Object.entries(value).flatMap(([key, item]) => {
    try {
      return [[key, checkFact(key, item)] as const];
    } catch (thrown) {
      refused.push(thrown instanceof SvcError ? thrown.message : describeError(thrown));
      return [];
    }
  });
  return { facts: Object.fromEntries(facts), refused };
}

function parseMap(text: string, name: string): object {
  if (text.trim() === "") return {};
  const value = parseJson(text) ?? plainValue(parseYaml(text, name));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SvcError("bad_request", `${name}: expected a map of facts, such as "role: web"`);
  }
  return value;
}

/** JSON may be indented with tabs, which YAML does not allow. */
function parseJson(text: string): unknown {
  if (!text.trimStart().startsWith("{")) return undefined;
  return attempt(() => JSON.parse(text));
}
