/** Labels in a cell of a table. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const shown = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return shown.length === 0 ? "-" : shown.join(" ");
}
