const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A number of bytes in the unit in which it has one to four digits: `512 MiB`, `7.6 GiB`. */
function sizeText(bytes: number): string {
  let [rest, at] = [bytes, 0];
  while (rest >= 1024 && at < units.length - 1) {
    rest /= 1024;
    at++;
  }
  const digits = at === 0 || rest >= 100 || Number.isInteger(rest) ? 0 : 1;
  return `${rest.toFixed(digits)} ${units[at]}`;
}

/** The same of a number of mebibytes, as facts have them. */
export const mebibytesText = (mebibytes: number): string => sizeText(mebibytes * 1024 * 1024);
