/** A line of a value as git reads it. */
interface GitLine {
  value: string;
  /** Whether the next line belongs to the value. */
  continues: boolean;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" };

/** Reads the value of git-config(1): quotes and escapes, up to a comment outside of quotes. */
export function readGitValue(text: string): GitLine {
  let [value, kept, isQuoted] = ["", 0, false];
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (letter === "\\" && at === text.length - 1) return { value, continues: true };
    if (letter === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (letter === "#" || letter === ";")) break;
    else if (letter === "\\") {
      at++;
      value += escapes[text[at] ?? ""] ?? text[at] ?? "";
    } else if (letter !== "\n") value += letter;
    // White space counts inside of quotes alone, or between other characters.
    if (isQuoted || letter === '"' || !/\s/.test(letter)) kept = value.length;
  }
  return { value: value.slice(0, kept), continues: false };
}

/** A value that git would cut at a comment, in quotes; one with quotes or escapes stays as it is written. */
export function quotedForGit(value: string): string {
  return /[#;]/.test(value) && !/["\\]/.test(value) ? `"${value}"` : value;
}
