import { type Opened, unclosedAt } from "./unclosed.ts";

const missing = "a quote, bracket, comma or colon is missing";
const outside = "the indentation does not fit";
const noComma = "a comma is missing";

/** Our messages for the parser's errors. The parser's own messages may repeat parts of the file. */
const reasons: readonly (readonly [start: string, reason: string])[] = [
  ["unknown escape sequence", "an unknown escape in a double-quoted string"],
  ["expected hexadecimal character", "an unknown escape in a double-quoted string"],
  ["expected ':' after a mapping key", "a key must end with a colon"],
  ["can not read a block mapping entry", "a key must be on one line and end with a colon"],
  ["unexpected end of the stream", missing],
  ["unexpected end of the document", missing],
  ["missed comma", noComma],
  ["nesting exceeded", "nested too deeply"],
  ["tab characters", "tabs are not allowed as indentation"],
  ["null byte", "a null byte is not allowed"],
  ["the stream contains non-printable", "a control character is not allowed"],
  ["deficient indentation", outside],
  ["bad indentation", outside],
  ["end of the stream or a document separator is expected", outside],
  ["tag ", "tags are not allowed"],
  ["undeclared tag", "tags are not allowed"],
];

/** What is wrong with a text, and where. */
export interface ParseProblem {
  offset: number;
  reason: string;
}

/**
 * Describes a parse error, and where it is.
 *
 * @param isYaml whether a text is YAML
 */
export function parseProblem(
  text: string,
  { offset, message }: { offset: number; message: string },
  isYaml: (text: string) => boolean,
): ParseProblem {
  const known = reasons.find(([start]) => message.startsWith(start))?.[1] ?? "not valid YAML";
  if (![missing, noComma, outside].includes(known)) return { offset, reason: known };
  // The parser reports every other early end of a value as bad indentation too.
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const tab = /^ *\t/.exec(text.slice(lineStart, offset + 1));
  if (tab !== null && known === outside) {
    return { offset: lineStart + tab[0].length - 1, reason: "tabs are not allowed as indentation" };
  }
  const open = openProblem(text, offset, known, isYaml);
  if (open !== undefined) return open;
  const at = text[offset] ?? "";
  if (known !== outside) return { offset, reason: known };
  if (at !== "" && "@`%".includes(at)) {
    return { offset, reason: "a value that starts with this character needs quotes" };
  }
  if (at === ":") return { offset, reason: "a map cannot start here: a value with a colon needs quotes" };
  if (at === "]" || at === "}") return { offset, reason: "this bracket closes none" };
  const [last = ""] = /\S?[ \t]*$/.exec(text.slice(lineStart, offset)) ?? [];
  if (/^['"]/.test(last)) return { offset, reason: "text follows a quote that closes: write it inside" };
  if (/^[\]}]/.test(last))
    return { offset, reason: "text follows a bracket that closes: put the value in quotes" };
  return { offset, reason: known };
}

/** The bracket or quote whose missing end is what the parser stumbles over; it stands before that place. */
function openProblem(
  text: string,
  offset: number,
  known: string,
  isYaml: (text: string) => boolean,
): ParseProblem | undefined {
  const { open, isClosedLater, quoted } = unclosedAt(text, offset);
  const [outermost] = open;
  const innermost = open.at(-1);
  if (outermost !== undefined && innermost !== undefined && isYaml(`${text.slice(0, outermost.at)}x`)) {
    const { at, sign } = innermost;
    if (!isClosedLater) return { offset: at, reason: `the ${wordFor(sign)} ${sign} is not closed` };
    if (known !== outside) return undefined;
    return {
      offset: at,
      reason: `the ${wordFor(sign)} ${sign} is closed after a line that is not further in`,
    };
  }
  if (quoted === undefined || known !== outside || !spansLines(text, quoted, offset)) return undefined;
  if (!isYaml(`${text.slice(0, quoted.from)}x`)) return undefined;
  return {
    offset: quoted.from,
    reason: "this quote is closed in a later line, and more text follows there: is a quote missing?",
  };
}

const wordFor = (sign: Opened["sign"]): string => (sign === "[" || sign === "{" ? "bracket" : "quote");

/** Whether a text in quotes began in an earlier line than the one it ends in, where the problem is. */
function spansLines(text: string, { from, to }: { from: number; to: number }, offset: number): boolean {
  return text.slice(from, to).includes("\n") && !text.slice(to, offset).includes("\n");
}
