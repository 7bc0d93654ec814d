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

/** A program of the host, as in `uptime` or `df -h`; functions have a dot and no arguments in their name. */
const programLine = /^(?:[a-z][a-z0-9_-]{0,31}|[a-z/][a-z0-9_./-]{0,63} .*)$/;
/** How many functions of other modules a message names. */
const maxNamesakes = 3;

/**
 * The end of the message about an unknown function: what was probably meant, or an empty string.
 *
 * @param known every name that a function answers to
 */
export function suggestFunction(name: string, known: readonly string[]): string {
  const other = otherNames.get(name);
  if (other !== undefined && known.includes(other)) return ` (did you mean ${other}?)`;
  // Without its module, as in `ping`.
  const namesakes = known.filter((one) => one.slice(one.indexOf(".") + 1) === name).toSorted();
  const isProgram = programLine.test(name);
  const program = `a program of the host runs with cmd.run ${quote(name)}`;
  if (namesakes.length > 0 && namesakes.length <= maxNamesakes) {
    const meant = `did you mean ${namesakes.join(" or ")}?`;
    return isProgram ? ` (${meant} ${program.replace("a", "A")})` : ` (${meant})`;
  }
  const near = suggestion(name, known);
  return near === "" && isProgram ? ` (${program})` : near;
}
