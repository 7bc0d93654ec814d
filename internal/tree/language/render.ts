import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, type YamlNode } from "../../base/yaml/yaml.ts";
import { oldWordsIn } from "../../base/yaml/yaml-old-words.ts";
import type { FileSource } from "../files/mod.ts";
import type { Problems } from "../function/mod.ts";
import { type Renderer, readRenderers, type Scope, TemplateError, type Templates } from "../template/mod.ts";

/** A rendered state file. */
export interface RenderedFile {
  path: string;
  text: string;
  root: YamlNode;
}

/** The first line of a state file may name a renderer. */
const shebang = /^#!(.*)/;

/** The templates of a tree, which may include each other. */
export function templatesOf({ files, templates }: { files: FileSource; templates: Templates }): Renderer {
  const texts = new Map<string, Promise<string>>();
  const paths = () => files.list("");
  return templates.renderer(async (path) => {
    if (files.stat(path) === undefined) return undefined;
    const text = texts.get(path) ?? files.read(path).then(decodeText);
    texts.set(path, text);
    return text;
  }, paths);
}

/**
 * Renders and parses a file of the tree. Adds every error to `problems`.
 *
 * @param variables variables for the template in addition to facts and settings
 */
export async function renderFile(
  path: string,
  { files, renderer, scope, problems }: RenderDeps,
  variables: Readonly<Record<string, Plain>>,
): Promise<RenderedFile | undefined> {
  try {
    scope.watch?.enter(path);
    const source = decodeText(await files.read(path));
    problems.setText(path, source, source);
    const [, named = "jinja|yaml"] = shebang.exec(source) ?? [];
    const renderers = readRenderers(named);
    if ("problem" in renderers) {
      problems.add(renderers.problem, { file: path, line: 1 });
      return undefined;
    }
    const text = renderers.template
      ? await renderer.render({ name: path, text: source }, scope, variables)
      : source;
    problems.setText(path, text, source);
    const quoted = new WeakSet<YamlNode>();
    const isOld = scope.compat === "salt";
    const root = parseYaml(text, path, quoted, { anyKeys: true, oldWords: isOld });
    for (const { at, message } of oldWordsIn(root, quoted)) {
      problems.warn(message, { file: path, line: at.line });
    }
    return { path, text, root };
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    await report(thrown, path, files, problems);
    return undefined;
  }
}

export interface RenderDeps {
  files: FileSource;
  renderer: Renderer;
  scope: Scope;
  problems: Problems;
}

async function report(error: SvcError, path: string, files: FileSource, problems: Problems): Promise<void> {
  if (error instanceof TemplateError) {
    // Line numbers in an included template refer to that template.
    if (error.file !== path && files.stat(error.file) !== undefined) {
      const source = decodeText(await files.read(error.file));
      problems.setText(error.file, source, source);
    }
    const column = error.column > 0 ? { column: error.column } : {};
    problems.add(error.reason, { file: error.file, line: error.line, ...column });
    return;
  }
  const [, line, reason] = /^.*?:(\d+):\d+: (.*)$/s.exec(error.message) ?? [];
  if (line === undefined || !error.message.startsWith(`${path}:`))
    problems.add(error.message, { file: path });
  else problems.add(reason ?? error.message, { file: path, line: Number(line) });
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SvcError("bad_request", "not valid UTF-8", { cause });
  }
}
