import { type Content, type Contents, cut, startHashing } from "../../internal/tree/files/contents.ts";

/** Files with these bytes, as a publisher takes them. */
export function contentsOf(files: Readonly<Record<string, string | Uint8Array>>): Contents {
  return new Map(
    Object.entries(files).map(([path, value]): [string, Content] => {
      const data = typeof value === "string" ? Buffer.from(value) : value;
      const pieces = cut(data);
      const hashing = startHashing();
      for (const piece of pieces) hashing.add(piece);
      return [
        path,
        {
          ...hashing.result(),
          executable: path.endsWith(".sh"),
          async *pieces() {
            yield* pieces;
          },
        },
      ];
    }),
  );
}

/** The environment `base` with these files. */
export function baseOf(files: Readonly<Record<string, string | Uint8Array>>) {
  return { name: "base", origin: { directory: true, commits: [] }, files: contentsOf(files) };
}
