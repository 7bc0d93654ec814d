/** A text in double quotes on one line, of ASCII alone. */
export function doubleQuoted(text: string): string {
  return `"${Array.from(text, (character) => (/^[ !#-[\]-~]$/.test(character) ? character : escapeOf(character))).join("")}"`;
}

const escapes: Readonly<Record<string, string>> = {
  ...{
    "\0": "0",
    "\x07": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
  },
  ...{ '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P" },
};

/** How a character is written in double quotes; `undefined` for one that is written as it is. */
export function escapedOf(character: string): string | undefined {
  if (/^[ !#-[\]-~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]$/.test(character)) return undefined;
  return escapeOf(character);
}

function escapeOf(character: string): string {
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}
