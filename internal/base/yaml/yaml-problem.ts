/** Our messages for the parser's errors. The parser's own messages may repeat parts of the file. */
const reasons: readonly (readonly [start: string, reason: string])[] = [
  ["unknown escape sequence", "an unknown escape in a double-quoted string"],
  ["expected hexadecimal character", "an unknown escape in a double-quoted string"],
  ["expected ':' after a mapping key", "a key must end with a colon"],
  ["can not read a block mapping entry", "a key must be on one line and end with a colon"],
  ["unexpected end of the stream", "a quote, bracket, comma or colon is missing"],
  ["unexpected end of the document", "a quote, bracket, comma or colon is missing"],
  ["missed comma", "a comma is missing"],
  ["nesting exceeded", "nested too deeply"],
  ["tab characters", "tabs are not allowed as indentation"],
  ["null byte", "a null byte is not allowed"],
  ["the stream contains non-printable", "a control character is not allowed"],
  ["deficient indentation", "a bracket is not closed, or the indentation does not fit"],
  ["bad indentation", "the indentation does not fit"],
  ["end of the stream or a document separator is expected", "the indentation does not fit"],
  ["tag ", "tags are not allowed"],
  ["undeclared tag", "tags are not allowed"],
];

/** Describes a parse error, and where it is. */
export function parseProblem(
  text: string,
  offset: number,
  message: string,
): { offset: number; reason: string } {
  const known = reasons.find(([start]) => message.startsWith(start))?.[1] ?? "not valid YAML";
  if (known !== "the indentation does not fit") return { offset, reason: known };
  // The parser reports every other early end of a value as bad indentation too.
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const tab = /^ *\t/.exec(text.slice(lineStart, offset + 1));
  if (tab !== null) {
    return { offset: lineStart + tab[0].length - 1, reason: "tabs are not allowed as indentation" };
  }
  const at = text[offset] ?? "";
  if (at !== "" && "@`%".includes(at)) {
    return { offset, reason: "a value that starts with this character needs quotes" };
  }
  if (at === ":") return { offset, reason: "a map cannot start here: a value with a colon needs quotes" };
  return { offset, reason: known };
}
