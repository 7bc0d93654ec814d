/** The variables that Salt passes to the template of a state or settings file: its name, its path and their parts. */
export function variablesOf(sls: string, path: string, environment: string): Record<string, string> {
  const packagePath = sls
    .replaceAll(".", "/")
    .replace(/\/?[^/]*$/, (last) => (path.endsWith("/init.sls") ? last : ""));
  return {
    sls,
    slspath: packagePath,
    ...placeOf(path),
    tplroot: directoryOf(path).split("/")[0] || ".",
    slsdotpath: packagePath.replaceAll("/", "."),
    slscolonpath: packagePath.replaceAll("/", ":"),
    sls_path: packagePath.replaceAll("/", "_"),
    saltenv: environment,
    env: environment,
  };
}

/**
 * The variables that a template has in Salt which is loaded without context: its own path in place of that of the state
 * file. One that is named relative to another template has the directory of the state file (`SaltCacheLoader`).
 *
 * @param requested the name as it was written
 */
export function loadedVariables(path: string, requested: string): Record<string, string> {
  return /^\.\.?\//.test(requested) ? { tplfile: requested } : placeOf(path);
}

function placeOf(path: string): Record<string, string> {
  const directory = directoryOf(path);
  return {
    tplfile: path,
    tpldir: directory === "" ? "." : directory,
    tpldot: directory.replaceAll("/", "."),
  };
}

function directoryOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}
