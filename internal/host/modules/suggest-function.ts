import { quote } from "../../base/cut.ts";
import { suggestion } from "../../base/nearest.ts";

/** What people type who come from other tools, and what does the same here. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ["cmd.script", "cmd.run"],
  ["cp.get_file_str", "file.read"],
  ["cp.push", "file.read"],
  ["file.cat", "file.read"],
  ["file.exists", "file.file_exists"],
  ["file.get", "file.read"],
]);

/** A program of the host, as in `uptime` or `df`; functions have a dot. */
const programName = /^[a-z][a-z0-9_-]{0,31}$/;

/**
 * The end of the message about an unknown function: what was probably meant, or an empty string.
 *
 * @param known every name that a function answers to
 */
export function suggestFunction(name: string, known: readonly string[]): string {
  const other = otherNames.get(name);
  if (other !== undefined && known.includes(other)) return ` (did you mean ${other}?)`;
  const near = suggestion(name, known);
  if (near !== "" || !programName.test(name)) return near;
  return ` (a program of the host runs with cmd.run ${quote(name)})`;
}
