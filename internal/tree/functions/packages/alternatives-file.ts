/** One of the paths that a name can stand for. */
export interface Alternative {
  path: string;
  priority: number;
}

/** What a host knows of a name, such as `editor`. */
export interface Alternatives {
  /** Whether the path with the highest priority is used. */
  automatic: boolean;
  /** The link that other programs use: `/usr/bin/editor`. */
  link: string;
  all: readonly Alternative[];
}

/** The directories in which update-alternatives keeps one file for each name. */
export const alternativesDirectories = ["/var/lib/dpkg/alternatives", "/var/lib/alternatives"] as const;

/**
 * Parses the file of a name: the mode, the link, the names and links that follow it, and after an empty line
 * each path with its priority and the paths of what follows it.
 */
export function parseAlternatives(text: string): Alternatives | undefined {
  const lines = text.split("\n");
  const [mode, link] = lines;
  const end = lines.indexOf("", 2);
  if ((mode !== "auto" && mode !== "manual") || link === undefined || end < 0) return undefined;
  const followers = (end - 2) / 2;
  const all: Alternative[] = [];
  for (let at = end + 1; at < lines.length; at += 2 + followers) {
    // Red Hat writes a family before the path, and a service after the priority.
    const path = lines[at]?.replace(/^@[^@]*@/, "");
    if (path === undefined || path === "") break;
    all.push({ path, priority: Number.parseInt(lines[at + 1] ?? "", 10) || 0 });
  }
  return { automatic: mode === "auto", link, all };
}
