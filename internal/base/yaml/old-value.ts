// The forms of YAML 1.1 as PyYAML resolves them, and as Salt changes them.

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["yes", "on", "true"].flatMap((word) => cased(word).map((each) => [each, true] as const)),
  ...["no", "off", "false"].flatMap((word) => cased(word).map((each) => [each, false] as const)),
]);
const nothing: ReadonlySet<string> = new Set(["", "~", "null", "Null", "NULL"]);
/** Matches the start of every number. */
const start = /^[-+.0-9]/;
const integer = /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/;
const float = /^(?:[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$/;
const endless = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

function cased(word: string): string[] {
  return [word, word.slice(0, 1).toUpperCase() + word.slice(1), word.toUpperCase()];
}

/** The value of a scalar without quotes as Salt reads it. What is infinite or no number is `NaN`. */
export function oldValue(text: string): string | number | boolean | null {
  const truth = truths.get(text);
  if (truth !== undefined) return truth;
  if (nothing.has(text)) return null;
  if (!start.test(text)) return text;
  if (integer.test(text)) return integerOf(text);
  if (float.test(text)) return summed(text.replaceAll("_", ""));
  return endless.test(text) ? Number.NaN : text;
}

/** Salt takes zeros away in front of digits; behind a sign, PyYAML still reads octal. */
function integerOf(text: string): number {
  const bare = /^0(?![bx])/.test(text) ? text.replace(/^0+/, "") : text;
  const [, sign = "", digits = ""] = /^([-+]?)(.*)$/.exec(bare.replaceAll("_", "")) ?? [];
  const size = /^0[bx]/.test(digits)
    ? Number(digits)
    : sign !== "" && /^0./.test(digits)
      ? Number.parseInt(digits, 8)
      : summed(digits);
  return sign === "-" && size !== 0 ? -size : size;
}

/** 12:30 is 12 times 60, and 30. */
function summed(text: string): number {
  const [, sign = "", digits = ""] = /^([-+]?)(.*)$/.exec(text) ?? [];
  const sum = digits.split(":").reduce((all, part) => all * 60 + Number(part), 0);
  return sign === "-" ? -sum : sum;
}
