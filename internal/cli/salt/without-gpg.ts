const named = /^#!([^\n]*)/;

/** Whether the first line of a file names the renderer that decrypts its values. */
export function usesGpg(text: string): boolean {
  return renderersOf(text)?.includes("gpg") === true;
}

/**
 * A file as it will be when its values are decrypted: its first line without `gpg`. The values stay as they are, so
 * what is made of them is not what a host would get.
 */
export function withoutGpg(text: string): string {
  if (!usesGpg(text)) return text;
  const others = renderersOf(text)?.filter((name) => name !== "gpg") ?? [];
  return text.replace(named, `#!${others.length === 0 ? "jinja|yaml" : others.join("|")}`);
}

function renderersOf(text: string): string[] | undefined {
  return named
    .exec(text)?.[1]
    ?.split("|")
    .map((name) => name.trim());
}
