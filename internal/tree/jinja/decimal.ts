// Floats in decimal digits as Python writes them: the exact value of the float is rounded, and a half goes to the even
// digit. JavaScript's functions round the exact value as well, and a half away from zero.

/** Digits of JavaScript's functions at most; floats that are halves of a digit have fewer. */
const max = 100;

/** The digits of a float of at least zero with a number of decimals, as `%.2f`. */
export function fixed(number: number, places: number): string {
  const wanted = Math.min(places, max);
  if (number >= 1e21) return `${BigInt(number)}${wanted > 0 ? `.${"0".repeat(wanted)}` : ""}`;
  const up = number.toFixed(wanted);
  const exact = number.toFixed(max);
  const cut = exact.indexOf(".") + 1 + wanted;
  const below = exact.slice(0, wanted === 0 ? cut - 1 : cut);
  return isHalf(exact.slice(cut)) && isEven(below) ? below : up;
}

/** The same with one digit before the point and an exponent of at least two digits, as `%.2e`. */
export function exponential(number: number, places: number): string {
  const wanted = Math.min(places, max);
  const [digits = "", power = ""] = number.toExponential(max).split("e");
  const cut = 2 + wanted;
  const below = digits.slice(0, wanted === 0 ? 1 : cut);
  const text =
    isHalf(digits.slice(cut)) && isEven(below) ? `${below}e${power}` : number.toExponential(wanted);
  return text.replace(/e([-+])(\d)$/, "e$10$2");
}

/** Python's `round(number, places)`; negative places round before the point. */
export function roundTo(number: number, places: number): number {
  if (!Number.isFinite(number) || places > max) return number;
  if (places >= 0) return Number(fixed(Math.abs(number), places)) * (isNegative(number) ? -1 : 1);
  const unit = 10 ** Math.min(-places, 308);
  const rest = number % unit;
  const down = number - rest;
  const isUp = Math.abs(rest) * 2 > unit || (Math.abs(rest) * 2 === unit && (down / unit) % 2 !== 0);
  return isUp ? down + Math.sign(number) * unit : down;
}

function isNegative(number: number): boolean {
  return number < 0 || Object.is(number, -0);
}

function isHalf(rest: string): boolean {
  return /^50*$/.test(rest);
}

function isEven(digits: string): boolean {
  return "02468".includes(digits.at(-1) ?? "");
}
