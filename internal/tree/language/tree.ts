import type { FileSource } from "../files/mod.ts";

/** The state files of a tree by their dotted names: `web.nginx` is web/nginx.sls or web/nginx/init.sls. */
export interface Tree {
  pathOf(sls: string): string | undefined;
  /** Every name, sorted. */
  names(): readonly string[];
}

const part = /^[^./\\*?[\]\s]+$/;

export function treeOf(files: FileSource): Tree {
  let names: readonly string[] | undefined;
  return {
    pathOf(sls) {
      const parts = sls.split(".");
      if (!parts.every((each) => part.test(each))) return undefined;
      const path = parts.join("/");
      return [`${path}.sls`, `${path}/init.sls`].find((candidate) => files.stat(candidate) !== undefined);
    },
    names() {
      names ??= files
        .list("")
        .filter((path) => path.endsWith(".sls") && path !== "top.sls")
        .map((path) =>
          path
            .slice(0, -".sls".length)
            .replace(/\/init$/, "")
            .replaceAll("/", "."),
        )
        .sort();
      return names;
    },
  };
}

/**
 * Makes the name in an include absolute: one leading dot is the package of the including file, each further
 * dot the package above.
 *
 * @param path of the including file; `init.sls` stands for its package
 * @returns `undefined` when there are more dots than packages
 */
export function absoluteName(written: string, sls: string, path: string): string | undefined {
  const [dots = ""] = /^\.*/.exec(written) ?? [];
  if (dots === "") return written.replaceAll("/", ".");
  const packages = sls.split(".");
  if (!path.endsWith("/init.sls")) packages.pop();
  const up = dots.length - 1;
  if (up > packages.length) return undefined;
  return [...packages.slice(0, packages.length - up), written.slice(dots.length)].join(".");
}
