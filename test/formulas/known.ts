/** Probes that differ from Salt, with the reason. Any other difference is a fault. */
export const known: ReadonlyMap<string, string> = new Map([
  [
    "salt sdb.get",
    "There is no sdb here: its drivers are Python modules with passwords in the minion's configuration. Settings carry secrets.",
  ],
]);
