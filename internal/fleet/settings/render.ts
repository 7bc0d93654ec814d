import type { Plain } from "../../base/msgpack.ts";
import type { Facts } from "../../host/facts/mod.ts";
import type { Templates } from "../../tree/template/mod.ts";

/** The variables of the templates of one peel. Reusing the object for all templates of a peel is cheaper. */
export interface PeelScope {
  readonly facts: Facts;
  /** Always empty, because the settings are being compiled. */
  readonly settings: Readonly<Record<string, Plain>>;
}

/** Renders the templates of one tree, for one peel at a time. */
export interface TreeRenderer {
  /**
   * @param read returns a file that the template includes, and records its path
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
      // A file included by an earlier template is already loaded and not read again.
      if (includes.test(template.text)) for (const path of included) read(path);
      return text;
    },
  };
}
