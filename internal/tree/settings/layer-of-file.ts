import type { Templates } from "../template/mod.ts";
import type { HeldFacts } from "./held-facts.ts";
import { type Layer, layerOf, type MergedFile } from "./layers.ts";
import { createLineMarks } from "./line-marks.ts";
import { withFile } from "./read.ts";
import { createTreeRenderer, type PeelScope } from "./render.ts";
import type { SettingsTree } from "./tree.ts";

/** What a template is rendered with a second time. */
interface Tracing {
  templates: Templates;
  tree: SettingsTree;
  strictFacts: boolean;
  peel: { held: HeldFacts; scope: PeelScope; variables: Readonly<Record<string, string | Labels>> };
}
type Labels = Readonly<Record<string, string>>;

/** Makes layers of files with the places of what is in them. One file at a time. */
export function createLayers({ templates, tree, strictFacts, peel }: Tracing) {
  const marks = createLineMarks();
  const renderer = createTreeRenderer(templates, tree, { strictFacts, mark: marks.mark });

  return async (file: MergedFile): Promise<Layer> => {
    const layer = layerOf(file);
    const { path, isTemplate, text } = file;
    if (!isTemplate) return layer;
    peel.held.clear();
    try {
      const template = { name: path, text: tree.files.get(path)?.text ?? "" };
      const read = (name: string) => tree.files.get(name)?.text;
      const marked = await renderer.render(template, peel.scope, withFile(peel.variables, path), read);
      const place = marks.read(marked, text);
      if (place === undefined) throw new Error("the template looks at what it writes");
      return { ...layer, source: (at) => place(at) ?? layer.source(at) };
    } catch {
      // Nobody knows then what it was written with.
      return layer;
    }
  };
}
