import { defined } from "../../base/defined.ts";
import { Problems } from "../function/mod.ts";
import { createTemplates, variablesOf } from "../template/mod.ts";
import type { LintOptions } from "./lint.ts";
import { decodeText, renderFile, templatesOf } from "./render.ts";

/**
 * Renders one file of a tree as a run would: a state file, or a template used by a state.
 *
 * @param path in the tree
 * @throws StateErrors with the place, also when a rendered state file is not valid YAML
 */
export async function renderAlone(
  path: string,
  { files, facts, settings, compat, host }: Omit<LintOptions, "peelId">,
): Promise<string> {
  const problems = new Problems(settings);
  const renderer = templatesOf({ files, templates: createTemplates() });
  const scope = { facts, settings, ...defined({ compat, host }) };
  if (path.endsWith(".sls")) {
    const sls = path
      .slice(0, -".sls".length)
      .replace(/\/init$/, "")
      .replaceAll("/", ".");
    const variables = variablesOf(sls, path, files.environment);
    const rendered = await renderFile(path, { files, renderer, scope, problems }, variables);
    problems.throwIfAny();
    return rendered?.text ?? "";
  }
  return renderer.render({ name: path, text: decodeText(await files.read(path)) }, scope);
}
