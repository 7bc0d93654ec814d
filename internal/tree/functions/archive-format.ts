/** The forms of archives that are taken apart, by the ends of their names. */
const formats = {
  tar: [".tar"],
  "tar.gz": [".tar.gz", ".tgz"],
  "tar.xz": [".tar.xz", ".txz"],
  "tar.bz2": [".tar.bz2", ".tbz2", ".tbz"],
  "tar.zst": [".tar.zst", ".tzst"],
  zip: [".zip", ".jar", ".war"],
} as const;

export type ArchiveFormat = keyof typeof formats;

/** Values of `archive_format`; `tar` finds out by itself how it is packed. */
export const formatNames: readonly string[] = Object.keys(formats);

/** The form of an archive by its name; `undefined` when that does not tell. */
export function formatOf(name: string): ArchiveFormat | undefined {
  const path = name.toLowerCase().replace(/[?#].*$/, "");
  return (Object.keys(formats) as ArchiveFormat[]).find((format) =>
    formats[format].some((end) => path.endsWith(end)),
  );
}
