import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "../../host/facts/fact.ts";
import type { Templates } from "../../tree/template/render.ts";

/** What a template of one peel may see. The same object for all of its templates costs least. */
export interface PeelScope {
  readonly facts: Facts;
  /** There are none yet: they are what is being made. */
  readonly settings: Readonly<Record<string, Plain>>;
}

/** Renders the templates of one tree, for one peel at a time. */
export interface TreeRenderer {
  /**
   * @param read gives a file that the template includes, and notes that it was looked at
   * @throws SvcError naming the template and the line
   */
  render(
    template: { name: string; text: string },
    scope: PeelScope,
    variables: Readonly<Record<string, Plain>>,
    read: (path: string) => string | undefined,
  ): Promise<string>;
}

const includes = /\{%[-+]?\s*(?:include|import|from|extends)\b/;

export function createTreeRenderer(templates: Templates): TreeRenderer {
  let readNow: (path: string) => string | undefined = () => undefined;
  const included = new Set<string>();
  const renderer = templates.renderer(async (path) => {
    included.add(path);
    return readNow(path);
  });
  return {
    async render(template, scope, variables, read) {
      readNow = read;
      const text = await renderer.render(template, scope, variables);
      // A file that an earlier template included is there for this one too, and is not read again.
      if (includes.test(template.text)) for (const path of included) read(path);
      return text;
    },
  };
}
