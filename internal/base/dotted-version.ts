const dotted = /^v?(\d+)\.(\d+)\.(\d+)/;

/** Whether a version such as `2.9.10` or `v2.11.0-beta` comes before another one. Other text is the oldest. */
export function isOlderVersion(version: string, than: string): boolean {
  const [numbers, others] = [numbersOf(version), numbersOf(than)];
  const at = others.findIndex((number, i) => number !== numbers[i]);
  return at !== -1 && (numbers[at] ?? -1) < (others[at] ?? -1);
}

function numbersOf(version: string): number[] {
  return dotted.exec(version)?.slice(1).map(Number) ?? [];
}
