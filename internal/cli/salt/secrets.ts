import type { Copied } from "./copy-tree.ts";
import type { Items } from "./report.ts";

const begin = /-----BEGIN PGP MESSAGE-----/;

/** Lists the values of settings files that only the GPG key of the Salt master opens. */
export function listSecrets(files: readonly Copied[], items: Items): void {
  for (const { path, text = "" } of files) {
    const lines = text.split("\n");
    for (const [at, line] of lines.entries()) {
      if (!begin.test(line)) continue;
      const { setting, from } = settingAt(lines, at);
      items.add(
        "secrets",
        { file: path, line: from },
        `${setting} is encrypted with the GPG key of the Salt master`,
        "Decrypt it there with gpg --decrypt, write the value, and remove gpg from the first line",
      );
    }
  }
}

/** The path of the setting whose value contains a line, as far as the indentation shows it. */
function settingAt(lines: readonly string[], at: number): { setting: string; from: number } {
  const names: string[] = [];
  let from = 0;
  let indent = indentOf(lines[at] ?? "") + (/:\s*["'|>]?.*BEGIN/.test(lines[at] ?? "") ? 1 : 0);
  for (let line = at; line >= 0 && indent > 0; line--) {
    const [, spaces = "", key] =
      /^(\s*)(?:- )?["']?([^\s#"':{}][^:{}]*?)["']?:(?:\s|$)/.exec(lines[line] ?? "") ?? [];
    if (key === undefined || spaces.length >= indent) continue;
    if (from === 0) from = line + 1;
    names.unshift(key);
    indent = spaces.length;
  }
  return { setting: names.length === 0 ? "a value" : names.join(":"), from: from || at + 1 };
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
