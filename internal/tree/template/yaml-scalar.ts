/** What YAML 1.1 reads as something else than a text. */
const notText: readonly RegExp[] = [
  /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  /^(?:~|null|Null|NULL|)$/,
  /^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  /^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/,
  /^(?:[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  /^(?:<<|=)$/,
  /^\d{4}-\d\d-\d\d$/,
  /^\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?$/,
];
/** The same for YAML 1.2. */
const notText12 =
  /^(?:0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]\.(?:inf|Inf|INF))$/;
const blanks = "\0 \t\r\n\x85\u2028\u2029";

/** How a text is written: without quotes where it may, then in single quotes, then in double ones. */
export function scalarStyle(
  text: string,
  { isKey, inFlow, isSalts }: { isKey: boolean; inFlow: boolean; isSalts: boolean },
): "plain" | "single" | "double" {
  const { allowsPlain, allowsFlowPlain, allowsSingle, hasBreaks } = analyse(text, isSalts);
  const isText = !notText.some((form) => form.test(text)) && (isSalts || !notText12.test(text));
  const isOnOneLine = !(isKey && hasBreaks);
  if (isText && isOnOneLine && (inFlow ? allowsFlowPlain : allowsPlain)) return "plain";
  return allowsSingle && isOnOneLine ? "single" : "double";
}

interface Analysis {
  allowsPlain: boolean;
  allowsFlowPlain: boolean;
  allowsSingle: boolean;
  hasBreaks: boolean;
}

/** @param isSalts libyaml escapes characters beyond U+FFFF */
function analyse(text: string, isSalts: boolean): Analysis {
  if (text === "") return { allowsPlain: true, allowsFlowPlain: false, allowsSingle: true, hasBreaks: false };
  const hasBreaks = /[\n\x85\u2028\u2029]/.test(text);
  const isEnclosed = /^[ \n\x85\u2028\u2029]|[ \n\x85\u2028\u2029]$/.test(text);
  const hasSpaceAfterBreak = /[\n\x85\u2028\u2029] /.test(text);
  const hasSpaceBeforeBreak = / [\n\x85\u2028\u2029]/.test(text);
  const isPlain =
    !(isSalts && /[\u{10000}-\u{10ffff}]/u.test(text)) &&
    !/[^\n\x20-\x7e\x85\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10fffe}]/u.test(text);
  const { inBlock, inFlow } = indicatorsOf(text);
  const allowsAny = !isEnclosed && !hasSpaceAfterBreak && !hasSpaceBeforeBreak && isPlain && !hasBreaks;
  return {
    allowsPlain: allowsAny && !inBlock,
    allowsFlowPlain: allowsAny && !inFlow,
    allowsSingle: !hasSpaceAfterBreak && !hasSpaceBeforeBreak && isPlain,
    hasBreaks,
  };
}

/** Whether characters mean something in a text without quotes, outside and inside of brackets. */
function indicatorsOf(text: string): { inBlock: boolean; inFlow: boolean } {
  const isDocument = /^(?:---|\.\.\.)/.test(text);
  let [inBlock, inFlow] = [isDocument, isDocument];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    const isBeforeBlank = at + 1 >= text.length || blanks.includes(text[at + 1] ?? "");
    const isAfterBlank = at === 0 || blanks.includes(text[at - 1] ?? "");
    if (at === 0) {
      if ("#,[]{}&*!|>'\"%@`".includes(character)) inBlock = inFlow = true;
      if ("?:".includes(character)) {
        inFlow = true;
        if (isBeforeBlank) inBlock = true;
      }
      if (character === "-" && isBeforeBlank) inBlock = inFlow = true;
    } else {
      if (",?[]{}".includes(character)) inFlow = true;
      if (character === ":") {
        inFlow = true;
        if (isBeforeBlank) inBlock = true;
      }
      if (character === "#" && isAfterBlank) inBlock = inFlow = true;
    }
  }
  return { inBlock, inFlow };
}
