/** The variables that Salt passes to the template of a state or settings file: its name, its path and their parts. */
export function variablesOf(sls: string, path: string, environment: string): Record<string, string> {
  const directory = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  const packagePath = sls
    .replaceAll(".", "/")
    .replace(/\/?[^/]*$/, (last) => (path.endsWith("/init.sls") ? last : ""));
  return {
    sls,
    slspath: packagePath,
    tplfile: path,
    tpldir: directory === "" ? "." : directory,
    tplroot: directory.split("/")[0] || ".",
    tpldot: directory.replaceAll("/", "."),
    slsdotpath: packagePath.replaceAll("/", "."),
    slscolonpath: packagePath.replaceAll("/", ":"),
    sls_path: packagePath.replaceAll("/", "_"),
    saltenv: environment,
    env: environment,
  };
}
