import type { TextPosition } from "../../base/place.ts";
import type { Templates } from "../template/mod.ts";
import type { HeldFacts } from "./held-facts.ts";
import type { Layer, Source } from "./layers.ts";
import { createLineMarks } from "./line-marks.ts";
import { type ReadYaml, withFile } from "./read.ts";
import { createTreeRenderer, type PeelScope } from "./render.ts";
import type { SettingsTree } from "./tree.ts";

/** A file that was merged into the settings of a peel. */
export interface MergedFile extends ReadYaml {
  path: string;
  /** The line that includes it. */
  because: string;
}

/** What a template is rendered with a second time. */
interface Tracing {
  templates: Templates;
  tree: SettingsTree;
  strictFacts: boolean;
  peel: { held: HeldFacts; scope: PeelScope; variables: Readonly<Record<string, string | Labels>> };
}
type Labels = Readonly<Record<string, string>>;

/** Below a directory of this name, every value is a secret. */
const secretPath = /(?:^|\/)secret\//;

/** Makes layers of files: their secrecy, and the places of what is in them. One file at a time. */
export function createLayers({ templates, tree, strictFacts, peel }: Tracing) {
  const marks = createLineMarks();
  const renderer = createTreeRenderer(templates, tree, { strictFacts, mark: marks.mark });
  const hasSecrets = [...tree.files.keys()].some((path) => secretPath.test(path));

  return async ({ path, root, isTemplate, text, because }: MergedFile): Promise<Layer> => {
    const written = { file: path, root, because };
    const isSecret = secretPath.test(path);
    const asWritten = ({ line }: TextPosition): Source => ({ file: path, line });
    if (!isTemplate) return { ...written, isSecret, source: asWritten };
    const asRendered = ({ line }: TextPosition): Source => ({ file: path, line, rendered: true });
    const used = new Set<string>();
    const read = (name: string) => {
      used.add(name);
      return tree.files.get(name)?.text;
    };
    peel.held.clear();
    try {
      const template = { name: path, text: tree.files.get(path)?.text ?? "" };
      const marked = await renderer.render(template, peel.scope, withFile(peel.variables, path), read);
      const place = marks.read(marked, text);
      if (place === undefined) throw new Error("the template looks at what it writes");
      return {
        ...written,
        isSecret: isSecret || [...used].some((name) => secretPath.test(name)),
        source: (at) => place(at) ?? asRendered(at),
      };
    } catch {
      // Nobody knows then what it was written with.
      return { ...written, isSecret: isSecret || hasSecrets, source: asRendered };
    }
  };
}
