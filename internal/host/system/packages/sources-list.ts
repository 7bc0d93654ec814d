/** One line of a sources.list: a repository of packages. */
export interface Repository {
  type: "deb" | "deb-src";
  /** `arch: amd64`, `signed-by: /etc/apt/keyrings/x.gpg`, in lower case. */
  options: ReadonlyMap<string, string>;
  uri: string;
  /** Suite or path: `bookworm`, `./`. */
  suite: string;
  components: readonly string[];
  disabled: boolean;
}

const line = /^\s*(#*)\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*([^#]*)(?:#.*)?$/;

/** Parses one line; `undefined` when it is not a repository. A repository behind # is disabled. */
export function parseRepository(text: string): Repository | undefined {
  const [, mark = "", type, options = "", uri = "", suite = "", rest = ""] = line.exec(text) ?? [];
  if (type === undefined || !/^[a-z][a-z0-9+.-]*:\S+$/i.test(uri)) return undefined;
  const components = rest.split(/\s+/).filter((each) => each !== "");
  // apt takes components unless the suite is a path.
  if ((components.length === 0) !== suite.endsWith("/")) return undefined;
  const known = parseOptions(options);
  if (known === undefined) return undefined;
  return { type: type as "deb" | "deb-src", options: known, uri, suite, components, disabled: mark !== "" };
}

function parseOptions(text: string): Map<string, string> | undefined {
  const found = new Map<string, string>();
  for (const word of text.split(/\s+/).filter((each) => each !== "")) {
    const [, name, value] = /^([A-Za-z-]+)[+-]?=(\S+)$/.exec(word) ?? [];
    if (name === undefined || value === undefined) return undefined;
    found.set(name.toLowerCase(), value);
  }
  return found;
}

/** The line of a repository. */
export function formatRepository(repository: Repository): string {
  const { type, options, uri, suite, components, disabled } = repository;
  const shown =
    options.size === 0 ? [] : [`[${[...options].map(([name, value]) => `${name}=${value}`).join(" ")}]`];
  return `${disabled ? "# " : ""}${[type, ...shown, uri, suite, ...components].join(" ")}`;
}

/** Whether two lines are about the same repository: apt takes it as one, whatever the slashes at its end. */
function isSameRepository(one: Repository, other: Repository): boolean {
  return one.type === other.type && trimmed(one.uri) === trimmed(other.uri) && one.suite === other.suite;
}

function trimmed(uri: string): string {
  return uri.replace(/\/+$/, "");
}

/** Whether two lines are about the same repository and share a component, so that one of them is enough. */
export function overlaps(one: Repository, other: Repository): boolean {
  if (!isSameRepository(one, other)) return false;
  return one.components.length === 0 || one.components.some((each) => other.components.includes(each));
}

/** Whether a line that overlaps already says all of what is wanted. */
export function fulfills(present: Repository, wanted: Repository): boolean {
  return (
    present.disabled === wanted.disabled &&
    wanted.components.every((each) => present.components.includes(each)) &&
    sameOptions(present.options, wanted.options)
  );
}

/** What is wanted, with the components that a line has in addition. */
export function withComponentsOf(present: Repository, wanted: Repository): Repository {
  return { ...wanted, components: [...new Set([...present.components, ...wanted.components])] };
}

/** What is left of a line without these components; `undefined` when that is nothing. */
export function withoutComponentsOf(present: Repository, unwanted: Repository): Repository | undefined {
  const components = present.components.filter((each) => !unwanted.components.includes(each));
  return components.length === 0 ? undefined : { ...present, components };
}

function sameOptions(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}
