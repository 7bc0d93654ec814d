/** JSON of a value. Bytes are digests, which people and JSON know as hexadecimal digits. */
export function jsonText(value: unknown, indent?: number): string {
  // A Buffer turns into an object of numbers before a replacer gets it, so the replacer reads the original.
  return JSON.stringify(
    value,
    function (this: Record<string, unknown>, key: string, written: unknown) {
      const original = this[key];
      return original instanceof Uint8Array ? Buffer.from(original).toString("hex") : written;
    },
    indent,
  );
}
