import { quote } from "./cut.ts";
import { SvcError } from "./errors.ts";

const kibibyte = 1024;
export const mebibyte = 1024 * kibibyte;
export const gibibyte = 1024 * mebibyte;

const unitBytes: Readonly<Record<string, number>> = {
  "": 1,
  KiB: kibibyte,
  MiB: mebibyte,
  GiB: gibibyte,
};
const form = /^(\d{1,15}) ?(KiB|MiB|GiB|)$/;

/**
 * Parses a number of bytes: `1048576`, `1024KiB`, `64MiB` or `8 GiB`.
 *
 * @throws SvcError `bad_request` when the text is not a size
 */
export function parseByteSize(text: string): number {
  const [, digits = "", unit = ""] = form.exec(text) ?? [];
  const bytes = Number(digits) * (unitBytes[unit] ?? 0);
  if (digits !== "" && Number.isSafeInteger(bytes)) return bytes;
  throw new SvcError(
    "bad_request",
    `${quote(text, 40)} is not a size: write a whole number of bytes, or with KiB, MiB or GiB, such as 512MiB`,
  );
}

/** Formats bytes in the same notation, exactly: `67108864` is `64MiB`, and 1,000 stays `1000`. */
export function formatByteSize(bytes: number): string {
  for (const unit of ["GiB", "MiB", "KiB"]) {
    const size = unitBytes[unit] ?? 1;
    if (bytes > 0 && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}`;
}

const shownUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** About how many bytes there are, for people, in the unit in which it has one to four digits: `512 MiB`, `7.6 GiB`. */
export function sizeText(bytes: number): string {
  let [rest, at] = [bytes, 0];
  while (rest >= 1024 && at < shownUnits.length - 1) {
    rest /= 1024;
    at++;
  }
  const digits = at === 0 || rest >= 100 || Number.isInteger(rest) ? 0 : 1;
  return `${rest.toFixed(digits).replace(/\.0$/, "")} ${shownUnits[at]}`;
}
