import { quote } from "../../base/cut.ts";

/** What the first line of a file says about how it is read: `#!jinja|yaml`. */
export type Renderers = { template: boolean } | { problem: string };

const advice = new Map([
  ["gpg", "write the values without encryption into the settings, which masters seal to each peel"],
  ...["py", "pydsl", "pyobjects"].map(
    (name) =>
      [
        name,
        "it would run Python on the host; write the file with jinja|yaml, which has loops, conditions and macros",
      ] as const,
  ),
  ...["mako", "wempy", "genshi", "cheetah"].map(
    (name) => [name, "write the template with jinja|yaml"] as const,
  ),
]);
const data = new Set(["yaml", "json"]);

/**
 * Reads the renderers that a file names.
 *
 * @param named without `#!`; several with | between them
 */
export function readRenderers(named: string): Renderers {
  const names = named.split("|").map((name) => name.trim().split(/\s+/)[0] ?? "");
  const template = names[0] === "jinja" || names[0] === "jinja2";
  const rest = template ? names.slice(1) : names;
  // A template alone is a template of YAML.
  const [format = "yaml", ...more] = rest;
  if (data.has(format) && more.length === 0) return { template };
  const wrong =
    names.find((name) => advice.has(name)) ??
    names.find((name) => !data.has(name) && !name.startsWith("jinja"));
  const why = advice.get(wrong ?? "") ?? "use jinja|yaml";
  return {
    problem: `the renderer ${quote(wrong ?? named, 40)} is not supported: ${why}`,
  };
}
