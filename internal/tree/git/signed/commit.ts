/** A commit as the repository has it. */
export interface CommitObject {
  id: string;
  tree: string;
  parents: readonly string[];
  /** Whether it has one signature, and that is of SSH. Signatures of other kinds count as none. */
  hasSignature: boolean;
}

/** Reads the headers of a commit; its message may hold any text. */
export function parseCommit(id: string, data: Uint8Array): CommitObject {
  const text = Buffer.from(data).toString("latin1");
  const end = text.indexOf("\n\n");
  const headers = (end === -1 ? text : text.slice(0, end)).split("\n");
  const valuesOf = (key: string) =>
    headers.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  const signatures = [...valuesOf("gpgsig"), ...valuesOf("gpgsig-sha256")];
  return {
    id,
    tree: valuesOf("tree")[0] ?? "",
    parents: valuesOf("parent"),
    hasSignature: signatures.length === 1 && signatures[0] === "-----BEGIN SSH SIGNATURE-----",
  };
}
