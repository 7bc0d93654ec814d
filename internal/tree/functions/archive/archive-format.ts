/** Supported archive formats, with their file name extensions. */
const formats = {
  tar: [".tar"],
  "tar.gz": [".tar.gz", ".tgz"],
  "tar.xz": [".tar.xz", ".txz"],
  "tar.bz2": [".tar.bz2", ".tbz2", ".tbz"],
  "tar.zst": [".tar.zst", ".tzst"],
  zip: [".zip", ".jar", ".war"],
} as const;

export type ArchiveFormat = keyof typeof formats;

/** Values of `archive_format`; `tar` detects the compression itself. */
export const formatNames: readonly string[] = Object.keys(formats);

/** The format of an archive according to its name; `undefined` when the extension is unknown. */
export function formatOf(name: string): ArchiveFormat | undefined {
  const path = name.toLowerCase().replace(/[?#].*$/, "");
  return (Object.keys(formats) as ArchiveFormat[]).find((format) =>
    formats[format].some((end) => path.endsWith(end)),
  );
}
