import { join } from "node:path";

/** What Jinja makes of a template: its text, or the error where it fails. */
export type Rendered = readonly [text: string, error: null] | readonly [text: null, error: string];

export interface Requested {
  context: unknown;
  files: Readonly<Record<string, string>>;
  templates: readonly string[];
}

/**
 * Renders templates with real Jinja.
 *
 * @param python a Python that has Jinja
 * @param salt whether it has Salt as well, whose filters are added
 */
export async function renderWithJinja(
  python: string,
  requested: Requested,
  salt: boolean,
): Promise<{ jinja: string; results: readonly Rendered[] }> {
  const child = Bun.spawn([python, join(import.meta.dir, "render.py")], {
    stdin: Buffer.from(JSON.stringify({ ...requested, salt })),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${python} failed`);
  return JSON.parse(said);
}
