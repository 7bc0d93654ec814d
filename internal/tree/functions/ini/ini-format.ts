/**
 * How a format continues a value on the next line. With `indent`, as in files of Python, by a line that is indented
 * more than its option. With `backslash` by a backslash at the end of the line, and options may have any indentation.
 */
export const continuations = ["indent", "backslash"] as const;

/** What the programs that read a file agree on. */
export interface IniFormat {
  /** `undefined`: a line that is indented more continues a value, but is not touched if it could be an option. */
  continuation: (typeof continuations)[number] | undefined;
  /** An option may follow its section in one line, and a value ends at a comment that is not in quotes. */
  isGit: boolean;
  /** Equal for two spellings of the name of an option, and of a section. */
  option(name: string): string;
  section(name: string): string;
}

const same = (name: string) => name;
const plain = { isGit: false, option: same, section: same };

/** The section without regard to case; a name in quotes behind it counts as written. */
const git: IniFormat = {
  continuation: "backslash",
  isGit: true,
  option: (name) => name.toLowerCase(),
  section: (name) => name.replace(/^[^\s"]*/, (word) => word.toLowerCase()).replace(/\s+(?=")/, " "),
};

const samba: IniFormat = {
  continuation: "backslash",
  isGit: false,
  option: (name) => name.toLowerCase().replace(/\s+/g, ""),
  section: (name) => name.toLowerCase().replace(/\s+/g, ""),
};

const unitKinds =
  "service|socket|device|mount|automount|swap|target|path|timer|slice|scope|network|netdev|link|nspawn";
const isUnit = new RegExp(`\\.(?:${unitKinds})$|/systemd/.*\\.conf$|\\.(?:${unitKinds})\\.d/[^/]*\\.conf$`);

/** The format of a file, by its name, unless the caller knows how its values continue. */
export function formatOf(path: string, continuation: string | undefined): IniFormat {
  const known = continuations.find((each) => each === continuation);
  if (known === "indent") return { ...plain, continuation: known };
  if (/(?:^|\/)(?:\.?gitconfig|\.gitmodules|\.?git\/config)$/.test(path)) return git;
  if (/(?:^|\/)(?:smb\.conf|samba\/[^/]*\.conf)$/.test(path)) return samba;
  return { ...plain, continuation: known ?? (isUnit.test(path) ? "backslash" : undefined) };
}
